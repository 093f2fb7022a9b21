"""A decoder that translates without an encoder, and other sequence models (notebook 07)."""

from course_utils import offer

__all__, __getattr__ = offer(
    __name__,
    {
        "model": [
            "RECIPES",
            "LanguageModel",
            "Sizes",
            "attention_maps",
            "changed_accuracy",
            "draw_heads",
            "draw_steps",
            "joined_mask",
            "measure",
            "train_language_model",
            "translate",
            "write",
        ],
        "sequence_models": [
            "KINDS",
            "DiagonalSSM",
            "Recall",
            "draw_recall",
            "generation_costs",
            "plot_costs",
            "recall_accuracy",
            "slopes",
            "train_recall",
            "training_costs",
        ],
    },
)
