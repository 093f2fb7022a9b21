# misconception: always-underscore
def collapse_blanks(text, blank):
    return text.replace("_", "")
