"""From German to English with attention (notebook 04).

model.py contains the translator, to be read from top to bottom. all_steps.py and fast_decoding.py
do the same faster, and you can understand the model without them. Notebooks 06 and 07 also train,
translate and measure with the functions of this room.
"""

from course_utils import offer

__all__, __getattr__ = offer(
    __name__,
    {
        "model": ["Dummy", "MeanPool", "Translator", "length_limit"],
        "training": ["RECIPES", "make_translator", "mean_loss", "train_translator"],
        "decoding": ["Translation", "prefix_scorer", "translate"],
        "slides_decoder": ["SlidesTranslator", "short_enough", "slides_greedy", "slides_loss"],
        "beam_trace": ["BeamTrace"],
        "scores": ["aligned_error_rate", "best_possible_error_rate", "bleu", "bleu_by_length"],
        "results": [
            "BEAM_RESULTS",
            "LENGTH_RESULTS",
            "TRANSFORMER_RESULTS",
            "BeamResult",
            "LengthResult",
            "Result",
            "comparison_text",
            "length_text",
            "read_results",
            "summarise",
        ],
        "drawing": ["comparison_plot", "draw_attention", "save_diagrams"],
    },
)
