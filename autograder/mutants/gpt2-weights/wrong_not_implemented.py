# misconception: none
def from_gpt2(state):
    raise NotImplementedError
