"""A matplotlib figure as a picture with a text alternative, for those who cannot see it."""

from .picture import from_figure as described

__all__ = ["described"]
