# misconception: none
def without_head(W_O, num_heads, head):
    return W_O.clone()
