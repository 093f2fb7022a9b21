# misconception: none
def collapse_blanks(text, blank):
    result = text[0] if text[0] != blank else ""
    for c in text[1:]:
        if c != blank:
            result += c
    return result
