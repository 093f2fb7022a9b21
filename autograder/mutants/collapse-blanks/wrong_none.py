# misconception: none
def collapse_blanks(text, blank):
    text = text.replace(blank, "")
