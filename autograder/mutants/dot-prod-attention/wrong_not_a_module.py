# misconception: none
class DotProdAttention:
    def __init__(self, hidden_size):
        self.hidden_size = hidden_size

    def __call__(self, query, states):
        return query, states
