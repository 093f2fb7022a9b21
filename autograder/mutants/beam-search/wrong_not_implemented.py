# misconception: none
def beam_search(step, start, end, beam, max_length, length_penalty=0.0):
    raise NotImplementedError()
