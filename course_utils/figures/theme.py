"""The colours and the style sheet of all pictures, for light and for dark pages."""

# Every text colour has a contrast of at least 4.5:1 on "paper" or on its own "..._paper"; so has
# "ink" on the strongest "plus" and "minus" and on every "box_...". test_contrast.py computes it.
LIGHT = {
    "paper": "#ffffff",
    "ink": "#1a1a1a",
    "quiet": "#555555",
    "rule": "#8c8c8c",
    "grid": "#d9d9d9",
    "plus": "#6bb3f0",
    "minus": "#f2a27e",
    "good": "#ffffff",
    "good_paper": "#1b6e3a",
    "bad": "#ffffff",
    "bad_paper": "#a8201a",
    "note": "#3d3000",
    "note_paper": "#ffe9a8",
    "series1": "#0b5cad",
    "series2": "#a83a05",
    "series3": "#1b6e3a",
    "series4": "#7a3aa8",
    "series5": "#7a5600",
    "series6": "#9b1c50",
    "panel": "#f7f9fb",
    "box_attention": "#ffd9a8",
    "box_feed": "#bfe0f5",
    "box_norm": "#eef3b5",
    "box_word": "#f6c9d4",
    "box_output": "#d5cdf0",
    "box_matrix": "#e3ecf5",
    "box_plain": "#ffffff",
}
DARK = {
    "paper": "#111111",
    "ink": "#f2f2f2",
    "quiet": "#b8b8b8",
    "rule": "#7d7d7d",
    "grid": "#3a3a3a",
    "plus": "#14568f",
    "minus": "#8a3b16",
    "good": "#08210f",
    "good_paper": "#7fd89b",
    "bad": "#2b0503",
    "bad_paper": "#ff9a92",
    "note": "#2b2200",
    "note_paper": "#f0d27a",
    "series1": "#7ab8ff",
    "series2": "#ff9e6b",
    "series3": "#7fd89b",
    "series4": "#d0a3f5",
    "series5": "#e6c45c",
    "series6": "#ff9ec4",
    "panel": "#1c2024",
    "box_attention": "#6b4711",
    "box_feed": "#14506f",
    "box_norm": "#4d5210",
    "box_word": "#6e2c40",
    "box_output": "#473a80",
    "box_matrix": "#33424f",
    "box_plain": "#111111",
}
SERIES = 6

# JupyterLab and nbconvert, Colab, VS Code, the course's site: each marks a dark page in its own way.
DARK_PAGES = (
    'body[data-jp-theme-light="false"]',
    'html[theme="dark"]',
    "body.vscode-dark",
    'html[data-theme="dark"]',
)

_RULES = """
.cw{background:var(--cw-paper);color:var(--cw-ink);padding:6px 8px;font-size:13px;line-height:1.35;
font-family:var(--jp-ui-font-family,system-ui,sans-serif);overflow-x:auto;box-sizing:border-box}
.cw h4{margin:8px 0 2px;font-size:13px;color:var(--cw-ink);font-weight:600}
.cw p{margin:4px 0;color:var(--cw-ink)}
.cw .cw-quiet{color:var(--cw-quiet)}
.cw pre{margin:2px 0;color:var(--cw-ink);background:var(--cw-paper);white-space:pre-wrap;
overflow-wrap:anywhere;font:12px var(--jp-code-font-family,monospace)}
.cw .cw-row{display:flex;flex-wrap:wrap;gap:10px 18px;align-items:flex-start}
.cw table{border-collapse:collapse;margin:0;width:auto;border:0;font-size:12px;color:var(--cw-ink);
table-layout:auto}
.cw table caption{caption-side:top;text-align:left;padding:2px 0;color:var(--cw-ink);
white-space:nowrap;font-size:12px}
.cw table td,.cw table th{border:1px solid var(--cw-grid);padding:2px 6px;text-align:right;
font-variant-numeric:tabular-nums;white-space:nowrap;line-height:1.35;color:var(--cw-ink);
max-width:none;vertical-align:middle}
.cw table tr,.cw table tbody tr:nth-child(odd),.cw table tbody tr:nth-child(even),
.cw table tbody tr:hover{background:var(--cw-paper)}
.cw table thead{border:0}
.cw table th{font-weight:400;color:var(--cw-quiet);background:var(--cw-paper);
border-color:transparent}
.cw table td.p{background:rgb(var(--cw-plus) / var(--a,0))}
.cw table td.m{background:rgb(var(--cw-minus) / var(--a,0))}
.cw table td.best{font-weight:700;outline:2px solid var(--cw-ink);outline-offset:-2px}
.cw sub,.cw sup{line-height:0}
.cw .cw-chip{display:inline-block;padding:2px 8px;border-radius:4px;margin:2px 0}
.cw .cw-good{background:var(--cw-good_paper);color:var(--cw-good)}
.cw .cw-bad{background:var(--cw-bad_paper);color:var(--cw-bad)}
.cw .cw-note{background:var(--cw-note_paper);color:var(--cw-note)}
.cw svg{max-width:100%;height:auto;display:block}
.cw svg text{fill:var(--cw-ink);font-family:var(--jp-ui-font-family,system-ui,sans-serif)}
.cw svg text.q{fill:var(--cw-quiet)}
.cw svg .axis{stroke:var(--cw-rule);fill:none}
.cw svg .grid{stroke:var(--cw-grid);fill:none}
.cw svg .p{fill:rgb(var(--cw-plus) / var(--a,1))}
.cw svg .m{fill:rgb(var(--cw-minus) / var(--a,1))}
.cw svg .frame{fill:none;stroke:var(--cw-ink)}
.cw svg text.halo{paint-order:stroke;stroke:var(--cw-paper);stroke-width:3px;stroke-linejoin:round}
.cw svg .ink{fill:var(--cw-ink)}
.cw svg .panel{fill:var(--cw-panel);stroke:var(--cw-rule)}
.cw svg .span{fill:var(--cw-grid);opacity:.45}
.cw svg .arrow{fill:none;stroke:var(--cw-ink);stroke-width:1.4}
.cw svg .later{stroke:var(--cw-rule);stroke-dasharray:4 3}
"""


def _channels(colour: str) -> str:
    return " ".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))


def _variables(colours: dict[str, str]) -> str:
    # The two heat colours are channels, because a cell adds its own opacity to them.
    pairs = (
        f"--cw-{name}:{_channels(value) if name in ('plus', 'minus') else value}"
        for name, value in colours.items()
    )
    return ";".join(pairs)


def _rules() -> str:
    series = "".join(
        f".cw svg .s{i}{{stroke:var(--cw-series{i});fill:none}}"
        f".cw svg .d{i}{{fill:var(--cw-series{i})}}"
        f".cw svg .b{i}{{fill:var(--cw-series{i});opacity:.18}}"
        f".cw svg text.t{i}{{fill:var(--cw-series{i})}}"
        for i in range(1, SERIES + 1)
    )
    boxes = "".join(
        f".cw svg .{name}{{fill:var(--cw-{name});stroke:var(--cw-ink)}}"
        for name in LIGHT
        if name.startswith("box_")
    )
    return (boxes + series + _RULES).replace("\n", "")


def _style_sheet() -> str:
    dark = ",".join(f"{page} .cw" for page in DARK_PAGES)
    return f"<style>.cw{{{_variables(LIGHT)}}}{dark}{{{_variables(DARK)}}}{RULES}</style>"


# Without colours, for a page that sets the variables `--cw-...` itself.
RULES = _rules()
STYLE = _style_sheet()
