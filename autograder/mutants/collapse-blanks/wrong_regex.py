# misconception: none
import re


def collapse_blanks(text, blank):
    return re.sub(blank, "", text)
