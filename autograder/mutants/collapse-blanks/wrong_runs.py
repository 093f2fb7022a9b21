# misconception: runs-to-one-blank
def collapse_blanks(text, blank):
    while blank + blank in text:
        text = text.replace(blank + blank, blank)
    return text
