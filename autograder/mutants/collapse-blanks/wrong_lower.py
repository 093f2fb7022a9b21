# misconception: none
def collapse_blanks(text, blank):
    return text.lower().replace(blank, "")
