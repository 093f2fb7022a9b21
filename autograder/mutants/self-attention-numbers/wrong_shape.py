# misconception: none
Q = [[1, 2, 3, 4], [1, 2, 3, 4]]
K = Q
V = Q
P = [0.1, 0.2, 0.3, 0.4]
Z = [[1.0]]
