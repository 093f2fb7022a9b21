def without_head(W_O, num_heads, head):
    silent = W_O.clone().view(len(W_O), num_heads, -1)
    silent[:, head] = 0
    return silent.view_as(W_O)
