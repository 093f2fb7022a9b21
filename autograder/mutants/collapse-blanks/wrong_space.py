# misconception: blanks-to-spaces
def collapse_blanks(text, blank):
    return text.replace(blank, " ")
