# misconception: everything
def without_head(W_O, num_heads, head):
    return 0 * W_O
