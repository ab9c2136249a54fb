"""The cases of answers_test.cc: python3 tests/metrics/golden_answers.py > tests/metrics/golden_answers.inc

The public scorers of SQuAD and TriviaQA are Python; this writes their definitions down with the same functions of str
and re, so that case, words and blanks of all scripts are those that Python knows.
"""

import collections
import re
import string

ANSWERS = [
    ("The quick-brown,\tAnd a  \"Fox\"! ", ["quick brown fox and"]),
    ("White house.", ["in the White House", "the White House"]),
    ("white white house", ["in the White House", "White House white"]),
    ("the", ["x", "a"]),
    ("", ["the"]),
    ("an", ["a", "The!"]),
    ("", ["yes"]),
    ("yes", ["no", "YES "]),
    ("don\u2019t", ["don't", "don t"]),
    ("`quoted\u2018 \u00b4text\u00b4", ["quoted text"]),
    ("snake_case_the_a", ["snake case"]),
    ("\u00c1 la carte", ["\u00e1 La Carte"]),
    ("a\u0300 la carte", ["la carte", "\u00e0 la carte"]),
    ("a\u2019b the\u201cc", ["b c", "\u2019b \u201cc"]),
    ("\u0130stanbul", ["i\u0307stanbul", "istanbul"]),
    ("\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3", ["\u03bf\u03b4\u03c5\u03c3\u03c3\u03b5\u03c5\u03c2"]),
    ("\u03a3 \u0391\u03a3.", ["\u03c3 \u03b1\u03c2"]),
    ("STRASSE", ["stra\u00dfe", "strasse"]),
    ("\u1e9e", ["\u00df"]),
    ("\ua64a\U00010400", ["\ua64b\U00010428"]),
    ("one\u00a0two\u2003three\u3000four\x1cfive\u0085six", ["one two three four five six"]),
    ("no\u200bbreak", ["no break", "nobreak"]),
    ("a\u00bd a\u00b2 a\u2167 the\u4e00", ["a\u00bd", "\u00bd"]),
    ("\u0661\u0662 \u0906\u092e", ["\u0906\u092e \u0661\u0662"]),
    ("caf\u00e9 caf\u00e9 bar", ["bar caf\u00e9", "caf\u00e9"]),
    ("$3.50", ["350", "3 50"]),
    ("U.S.A.", ["usa", "u s a"]),
    ("anthem theatre a.", ["anthem theatre"]),
    ("\U0001f600 a\U0001f600a", ["\U0001f600"]),
]


def squad(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(?:a|an|the)\b", " ", text).split()


def triviaqa(text):
    blanks = string.punctuation + "\u2018\u2019\u00b4`"
    text = "".join(" " if c in blanks else c for c in text.replace("_", " ").lower())
    return re.sub(r"\b(?:a|an|the)\b", " ", text).split()


def f1(said, right, both_empty):
    if not said or not right:
        return float(both_empty and said == right)
    same = sum((collections.Counter(said) & collections.Counter(right)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(said), same / len(right)
    return 2 * precision * recall / (precision + recall)


def scores(said, answers, words, is_squad):
    right = [words(answer) for answer in answers]
    if is_squad:  # 2.0: answers that are empty when normalised are no answers, and a question without any has ""
        right = [r for r in right if r] or [[]]
    said = words(said)
    return float(said in right), max(f1(said, r, is_squad) for r in right)


def quoted(text):
    """A C++ literal of the UTF-8 bytes."""
    return '"%s"' % "".join("\\%03o" % b if b < 32 or b > 126 or chr(b) in '"\\?' else chr(b) for b in text.encode())


if __name__ == "__main__":
    for said, answers in ANSWERS:
        numbers = [*scores(said, answers, squad, True), *scores(said, answers, triviaqa, False)]
        print("{%s, {%s}, %s, %s, %s}," % (quoted(said), ", ".join(map(quoted, answers)), quoted(" ".join(squad(said))),
                                           quoted(" ".join(triviaqa(said))), ", ".join(map(repr, numbers))))
