# misconception: none
def attention(query, keys, values, score):
    raise NotImplementedError()


def dot_score(query, keys):
    raise NotImplementedError()


def additive_score(query, keys, W, U, v):
    raise NotImplementedError()


def linear_score(query, keys, W, b):
    raise NotImplementedError()
