# misconception: repeats-merged-after
def collapse_blanks(text, blank):
    result = ""
    for c in text.replace(blank, ""):
        if not result or result[-1] != c:
            result += c
    return result
