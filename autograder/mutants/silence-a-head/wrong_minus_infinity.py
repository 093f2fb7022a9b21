# misconception: none
def without_head(W_O, num_heads, head):
    d = W_O.shape[1] // num_heads
    silent = W_O.clone()
    silent[:, head * d : (head + 1) * d] = float("-inf")
    return silent
