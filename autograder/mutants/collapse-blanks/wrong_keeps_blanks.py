# misconception: blanks-kept-letters-dropped
def collapse_blanks(text, blank):
    return "".join(c for c in text if c == blank)
