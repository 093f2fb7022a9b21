def without_head(W_O, num_heads, head):
    d = W_O.shape[1] // num_heads
    start, end = head * d, (head + 1) * d
    silent = W_O.clone()
    silent[:, start:end] = 0
    return silent
