# misconception: ends-only
def collapse_blanks(text, blank):
    return text.strip(blank)
