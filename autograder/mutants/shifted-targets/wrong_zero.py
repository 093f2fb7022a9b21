# misconception: none
def next_token_loss(logits, tokens):
    return 0 * logits.sum()
