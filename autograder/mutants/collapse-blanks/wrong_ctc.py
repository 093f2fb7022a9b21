# misconception: merges-repeats
def collapse_blanks(text, blank):
    result, last = "", None
    for c in text:
        if c != last and c != blank:
            result += c
        last = c
    return result
