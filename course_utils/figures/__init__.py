"""The pictures of the course, each with a description in words (used by all notebooks).

- `picture`: `Picture`, the one type for a picture with its description, also from matplotlib.
- `chart`: line charts, bar charts and heat tables for light and dark pages.
- `drawing`: the parts of a drawing, and a canvas for boxes and arrows.
- `theme`, `numbers`: the colours, and how numbers are written.
- Diagrams: `pen_and_paper` (01), `encoder_decoder` and `bottleneck_plots` (02), `translator` (04),
  `transformer` (01, 05, 06), `joined_masks` (07).
"""
