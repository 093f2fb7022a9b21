# misconception: none
def grouped_attention(query, key, value, mask=None):
    raise NotImplementedError
