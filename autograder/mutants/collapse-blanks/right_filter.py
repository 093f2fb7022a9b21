def collapse_blanks(text, blank):
    print("dropping", blank)
    return "".join(filter(lambda c: c != blank, text))
