# misconception: none
def collapse_blanks(text, blank):
    return [c for c in text if c != blank]
