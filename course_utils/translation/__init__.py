"""From German to English with attention: the model, its training and its measures (notebook 04).

Notebooks 06 and 07 use the measures, such as `bleu`, to compare their models with this one.
"""

from course_utils import offer

__all__, __getattr__ = offer(
    __name__,
    {
        "model": [
            "RECIPES",
            "Dummy",
            "MeanPool",
            "Recipe",
            "greedy",
            "make_translator",
            "mean_loss",
            "prefix_scorer",
            "train_translator",
            "translate",
        ],
        "slides_decoder": ["SlidesTranslator", "short_enough", "slides_greedy", "slides_loss"],
        "beam_trace": ["BeamTrace"],
        "report": [
            "BEAM_RESULTS",
            "LENGTH_RESULTS",
            "BeamResult",
            "LengthResult",
            "Result",
            "aligned_error_rate",
            "best_possible_error_rate",
            "bleu",
            "bleu_by_length",
            "comparison_plot",
            "comparison_text",
            "draw_attention",
            "length_text",
            "read_results",
            "save_diagrams",
            "summarise",
        ],
    },
)
