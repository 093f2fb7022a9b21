# misconception: none
from course_utils.language_model.training import target_loss


def next_token_loss(logits, tokens):
    return target_loss(False)(lambda *_, **__: logits, tokens)[0]
