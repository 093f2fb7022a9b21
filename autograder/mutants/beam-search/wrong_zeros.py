# misconception: none
def beam_search(step, start, end, beam, max_length, length_penalty=0.0):
    return [0] * max_length, 0.0
