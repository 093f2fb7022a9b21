# misconception: none
def without_head(W_O, num_heads, head):
    silent = W_O.clone()
    silent[:, head] = 0
    return silent
