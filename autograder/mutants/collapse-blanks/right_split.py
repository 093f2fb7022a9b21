def collapse_blanks(text, blank):
    return "".join(text.split(blank))
