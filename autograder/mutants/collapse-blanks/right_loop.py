def collapse_blanks(text, blank):
    result = ""
    for character in text:
        if character == blank:
            continue
        result += character
    return result
