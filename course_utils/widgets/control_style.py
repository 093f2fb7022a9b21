"""The style sheet of the live controls: small number fields, the mask's buttons, dark menus."""

from course_utils.figures.theme import DARK, DARK_PAGES, LIGHT

# The first rule keeps a wide drawing from widening its sentences too: on a narrow page the drawing
# scrolls and the sentences wrap.
_RULES = """
.widget-html:has(.cw),.widget-html-content:has(.cw){min-width:0!important;max-width:100%}
.cw-cell{position:relative}
.cw-cell .widget-label{position:absolute!important;width:1px!important;height:1px!important;
overflow:hidden;clip-path:inset(50%);margin:0!important;padding:0!important}
.cw-cell input[type="text"]{padding:0 4px!important;text-align:right;min-width:0}
.cw-cell input[type="text"]:disabled{opacity:1!important;border-style:dotted!important}
.cw-wrong input[type="text"]{outline:2px solid var(--cw-wrong)!important;outline-offset:-2px;
border-style:dashed!important}
.cw-switch{overflow:hidden!important;text-overflow:clip!important;text-align:left!important;
padding:0 0 0 8px!important;white-space:pre!important}
.cw-title sub{line-height:0}
.cw-code textarea{font-family:var(--jp-code-font-family,monospace)!important;font-size:12px}
"""


def _sheet() -> str:
    dark = ",".join(f"{page} .cw-wrong" for page in DARK_PAGES)
    wrong = f".cw-wrong{{--cw-wrong:{LIGHT['bad_paper']}}}{dark}{{--cw-wrong:{DARK['bad_paper']}}}"
    # The arrow that comes with the menus is black, and can't be seen on a dark page.
    menus = ",".join(f"{page} .cw-menu select" for page in DARK_PAGES)
    arrow = (
        "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 18 18'%3E%3Cpath "
        f"fill='{DARK['ink'].replace('#', '%23')}' d='M5.2 7 9 10.8 12.8 7 14 8.2l-5 5-5-5z'/%3E%3C/svg%3E"
    )
    menus += f'{{background-image:url("data:image/svg+xml,{arrow}")!important}}'
    return "<style>" + (wrong + menus + _RULES).replace("\n", "") + "</style>"


CONTROL_STYLE = _sheet()
