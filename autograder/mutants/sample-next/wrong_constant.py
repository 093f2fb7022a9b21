# misconception: none
def sample_next(logits, temperature=1.0, top_k=None, generator=None):
    return 0
