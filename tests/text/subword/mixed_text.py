"""Text of everything that cuts words in a different way: scripts, marks, emoji, blanks, code, long words."""

import random
import unicodedata

# First and last letters of a dozen scripts and more.
SCRIPTS = {"latin": (0x61, 0x7A), "accents": (0xC0, 0x17F), "greek": (0x391, 0x3C9), "cyrillic": (0x410, 0x44F),
           "armenian": (0x531, 0x587), "hebrew": (0x5D0, 0x5EA), "arabic": (0x621, 0x64A), "devanagari": (0x901, 0x94D),
           "bengali": (0x985, 0x9C4), "tamil": (0xB85, 0xBCD), "thai": (0xE01, 0xE3A), "ethiopic": (0x1200, 0x1246),
           "hiragana": (0x3041, 0x3093), "katakana": (0x30A1, 0x30F6), "han": (0x4E00, 0x9FA5),
           "hangul": (0xAC00, 0xD7A3), "jamo": (0x1100, 0x1159), "fullwidth": (0xFF21, 0xFF5A)}
EMOJI = ["\U0001F600", "\U0001F468\u200D\U0001F469\u200D\U0001F467", "\U0001F44D\U0001F3FD", "\u2764\uFE0F",
         "\U0001F1E9\U0001F1EA", "1\uFE0F\u20E3", "\u2602"]
BLANKS = [" ", " ", " ", " ", " ", " ", " ", "  ", "   ", "\n", "\n", "\n\n", "\r\n", "\t", " \n", "\n  ", "\u00A0", "\u3000",
          "\u2028", "\u2003", "\x85", "\x0b", " " * 17, "\n" * 5, "\t\t \t"]
MARKS = ["\u0301", "\u0308", "\u0323", "\u0327\u0301", "\u20DD", "\u0345"]
PUNCTUATION = list(".,;:!?-()[]{}<>/\\|@#$%^&*_+=~`\"'") + ["...", "--", "''", "\u2019", "\u201c", "\u3002", "\uff0c", "\u00bf", "\u2014",
                                                         "\u20ac", "\u00a7", "\u2260", "->", "://", "!!!", ".\n", ";\n\n"]
SHORT = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "'Re", "\u2019s", "'\u017f", "n't"]
NUMBERS = ["0", "7", "42", "1999", "1234567890", "3.14", "1e-9", "\u0663\u0664", "\u096a\u0968", "\u00bd", "\u00b2", "\u2167", "\uff11\uff12", "\u4e00\u4e8c"]
CODE = ["def f(x):\n    return x ** 2\n", "for (int i = 0; i < n; ++i) {\n\t\ta[i] += 1;\n}\n", "<a href=\"x.html\">&nbsp;</a>",
        "SELECT * FROM t WHERE a='b';\n", "https://example.org/a?b=c&d=%20#e", "fooBarBaz_qux42", "0x7fFF", "\\n\\t\\u00e9"]
ODD = ["\x00", "\x07", "\x1b[0m", "\u200b", "\ufeff", "\u00ad", "\ufffd", "\u0130", "\u00df", "\ufb01", "\u1e9e", "\u03a3", "\u01c5", "\u212b", "\u2126", "\u180e", "\u200d",
       "\u200c", "\U0001d400", "\U00020000", "\u2581", "\u0120", "<unk>", "<|endoftext|>", "[MASK]", "<0x41>"]


def is_old(code):
    """A character that every library's tables have, with the same category."""
    old = unicodedata.ucd_3_2_0.category(chr(code))
    return old != "Cn" and old == unicodedata.category(chr(code))


LETTERS = {name: [chr(code) for code in range(first, last + 1) if is_old(code)]
           for name, (first, last) in SCRIPTS.items()}
assert all(LETTERS.values())


class Mixed:
    def __init__(self, seed, words=(), scripts=tuple(LETTERS)):
        self.draw = random.Random(seed)
        self.words = list(words)
        self.scripts = scripts
        self.script = "latin"

    def word(self):
        draw = self.draw
        if draw.random() < 0.05:
            self.script = draw.choice(self.scripts)
        if self.script == "latin" and self.words and draw.random() < 0.9:
            word = draw.choice(self.words)
        else:
            word = "".join(draw.choices(LETTERS[self.script], k=draw.randint(1, 9)))
        kind = draw.random()
        if kind < 0.1:
            word = word.capitalize()
        elif kind < 0.13:
            word = word.upper()
        elif kind < 0.15:
            word += draw.choice(SHORT)
        elif kind < 0.17:
            at = draw.randint(0, len(word))
            word = word[:at] + draw.choice(MARKS) + word[at:]
        return word

    def part(self):
        draw = self.draw
        kind = draw.random()
        if kind < 0.80:
            return self.word()
        if kind < 0.88:
            return draw.choice(PUNCTUATION)
        if kind < 0.92:
            return draw.choice(NUMBERS)
        if kind < 0.95:
            return draw.choice(EMOJI)
        if kind < 0.97:
            return draw.choice(ODD)
        if kind < 0.98:
            return draw.choice(CODE)
        if kind < 0.9995:
            return draw.choice(BLANKS) * draw.randint(1, 3)
        # A very long word: of one letter, of few, of a script.
        letters = draw.choice([["a"], ["a", "b"], ["ab", "ba", "1"], LETTERS[self.script], ["\u0301", "e"], ["!"], [" "]])
        return "".join(draw.choices(letters, k=draw.choice([100, 1000, 5000])))

    def text(self, size):
        """About `size` bytes."""
        parts, length = [], 0
        while length < size:
            part = self.part()
            if self.draw.random() < 0.8:
                part += self.draw.choice(BLANKS)
            parts.append(part)
            length += len(part.encode())
        return "".join(parts)
