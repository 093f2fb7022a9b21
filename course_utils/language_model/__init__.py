"""Decoder-only models, their cache, and other sequence models (notebooks 07 and 08)."""

from course_utils import offer

__all__, __getattr__ = offer(
    __name__,
    {
        "model": ["LanguageModel", "joined_mask"],
        "training": ["RECIPES", "measure", "train_language_model"],
        "python_source": ["bigram_bits", "gzip_bits", "standard_library"],
        "byte_training": [
            "BYTE_RECIPES",
            "as_tokens",
            "bits_per_byte",
            "byte_losses",
            "start_small",
            "train_on_bytes",
        ],
        "cache": ["with_cache"],
        "shipped_weights": ["load_weights", "shipped_model"],
        "gpt2": ["public_gpt2"],
        "heads": ["loss_of_the_second_time", "maps_of", "measure_heads", "silenced"],
        "writing": ["translation_figures", "write", "write_text", "written_jointly"],
        "changed_attention": ["attention_maps", "changed_accuracy", "sharpness"],
        "sequence_models": ["DiagonalSSM"],
        "recall": ["measured_recall"],
        "memory": ["MEMORIES", "memory_point"],
        "costs": ["generation_costs", "growth_in_words", "slopes", "training_costs"],
        "drawing": [
            "draw_heads",
            "draw_memories",
            "draw_memory",
            "draw_recall",
            "draw_scores",
            "draw_steps",
            "plot_costs",
        ],
        "peak": ["peak_bytes"],
    },
)
