# misconception: none
def collapse_blanks(text, blank):
    text.replace(blank, "")
    return text
