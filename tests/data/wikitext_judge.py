"""Splitting and detokenisation of WikiText as in lm-eval, with Python's regular expressions."""

import re

LITERAL = [[(" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."), (" : ", ": "), (" ; ", "; "), (" . ", ". "), (" ! ", "! "),
            (" ? ", "? "), (" , ", ", ")],
           [("= = = =", "===="), ("= = =", "==="), ("= =", "=="), (" \u00b0 ", "\u00b0"), (" \n", "\n"), ("\n ", "\n"),
            (" N ", " 1 "), (" 's", "'s")]]
PAIRS = ["()", "[]", "{}", '""', "''"]


def detokenised(page):
    text = re.sub(r"/' [0-9]/", "/'[0-9]/", page.replace("s '", "s'"))
    for old, new in LITERAL[0]:
        text = text.replace(old, new)
    for opening, closing in PAIRS:
        pattern = rf"{re.escape(opening)}\s*([^{re.escape(closing)}]*?)\s*{re.escape(closing)}"
        text = re.sub(pattern, lambda match: opening + match[1] + closing, text)
    for old, new in LITERAL[1]:
        text = text.replace(old, new)
    return text


def rows(lines):
    """One row for each line, like the rows of the WikiText dataset in the datasets library. Blank lines become empty
    rows.
    """
    return [line if line.strip() else "" for line in lines]


def pages(text):
    found, lines = [], []
    for line in text.split("\n"):
        heading = line.replace("= = =", "===").replace("= =", "==").strip()
        if heading.startswith("= ") and heading.endswith(" ="):
            if "\n".join(lines).strip():
                found.append("\n".join(lines))
            lines = []
        lines.append(line)
    return found + ["\n".join(lines)]


def words(page):
    return len(re.split(r"\s+", page))
