# misconception: spaces-too
def collapse_blanks(text, blank):
    return "".join(text.replace(blank, " ").split())
