"""A decoder that translates without an encoder, and other sequence models (notebook 07)."""

from course_utils import offer

__all__, __getattr__ = offer(
    __name__,
    {
        "model": ["LanguageModel", "joined_mask"],
        "training": ["RECIPES", "measure", "train_language_model"],
        "writing": ["write", "written_jointly"],
        "changed_attention": ["attention_maps", "changed_accuracy"],
        "sequence_models": ["KINDS", "DiagonalSSM"],
        "recall": ["Recall", "recall_accuracy", "train_recall"],
        "costs": ["generation_costs", "slopes", "training_costs"],
        "drawing": ["draw_heads", "draw_recall", "draw_steps", "plot_costs"],
    },
)
