"""Sphinx's settings for the site; `tools/make_site.py` lays out the pages beside a copy of this file."""

import tomllib
from pathlib import Path

_settings = tomllib.loads(Path(__file__).with_name("settings.toml").read_text(encoding="utf-8"))

project = _settings["title"]
author = "the authors of the attention course"
copyright = f"2026, {author}. Text: CC BY 4.0. Code: BSD-3-Clause"
language = "en-GB"

extensions = ["myst_nb", "sphinx_copybutton"]
nb_execution_mode = "off"
nb_render_markdown_format = "myst"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4
# Notebooks open with a badge or a table in places where MyST expects headings to go down by one.
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header"]

html_theme = "sphinx_book_theme"
html_title = project
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_extra_path = ["extra"]
html_css_files = ["course.css"]
# Summaries would be fetched, which a browser forbids for pages that are opened from a folder.
html_show_search_summary = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "repository_url": _settings["repository"],
    "use_repository_button": bool(_settings["repository"]),
    "use_download_button": False,
    "use_fullscreen_button": False,
    "navbar_persistent": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Mathematics is set by a copy of MathJax on the site itself: nothing is fetched from elsewhere.
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {"options": {"enableMenu": False}}
