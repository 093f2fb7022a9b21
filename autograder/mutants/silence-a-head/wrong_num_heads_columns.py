# misconception: num-heads-columns
def without_head(W_O, num_heads, head):
    silent = W_O.clone()
    silent[:, head * num_heads : (head + 1) * num_heads] = 0
    return silent
