# misconception: changes-its-input
def without_head(W_O, num_heads, head):
    d = W_O.shape[1] // num_heads
    W_O[:, head * d : (head + 1) * d] = 0
    return W_O
