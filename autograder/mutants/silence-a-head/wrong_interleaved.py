# misconception: interleaved
def without_head(W_O, num_heads, head):
    silent = W_O.clone()
    silent[:, head::num_heads] = 0
    return silent
