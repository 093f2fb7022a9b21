# misconception: none
def collapse_blanks(text, blank):
    raise NotImplementedError()
