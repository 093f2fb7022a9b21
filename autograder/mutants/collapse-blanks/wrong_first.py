# misconception: first-blank-only
def collapse_blanks(text, blank):
    return text.replace(blank, "", 1)
