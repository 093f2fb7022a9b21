# misconception: none
def one_hot_positions(T):
    return [[1.0 if t == j else 0.0 for j in range(T)] for t in range(T)]
