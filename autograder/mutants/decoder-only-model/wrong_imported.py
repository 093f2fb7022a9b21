# misconception: none
from course_utils.language_model.model import LanguageModel
from course_utils.transformer.sizes import Sizes


class DecoderOnly(LanguageModel):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, max_length):
        sizes = Sizes(d_model, num_heads, num_layers, d_ff, 0.0, max_length)
        super().__init__(vocab_size, vocab_size, sizes)

    def forward(self, tokens, first=0):
        return super().forward(tokens)
