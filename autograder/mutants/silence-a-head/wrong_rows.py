# misconception: rows-not-columns
def without_head(W_O, num_heads, head):
    d = len(W_O) // num_heads
    silent = W_O.clone()
    silent[head * d : (head + 1) * d] = 0
    return silent
