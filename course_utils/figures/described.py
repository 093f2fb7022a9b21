"""A matplotlib figure as a picture with a text alternative, for those who cannot see it."""

import base64
import html
import io

from IPython.display import HTML


def described(figure, words: str) -> HTML:
    """The figure as a PNG whose alternative text is `words`."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=100)
    data = base64.b64encode(picture.getvalue()).decode()
    return HTML(
        f'<img src="data:image/png;base64,{data}" alt="{html.escape(words, quote=True)}" '
        'style="max-width: 100%; background: white">'
    )
