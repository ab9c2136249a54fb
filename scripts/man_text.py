"""Plain text of manual pages written with the man macros: headings, paragraphs, and terms with what they mean.

Enough of roff for the pages of git-man and manpages-dev; groff itself would break lines, hyphenate and lose what is a
term.
"""

import dataclasses
import gzip
import re

# Requests that set nothing or take no text.
PARAGRAPHS = {"PP", "P", "LP", "sp", "HP"}
FONTS = {"B", "I", "SM", "SB"}
ALTERNATING = {"BR", "BI", "IB", "IR", "RB", "RI"}
CHARACTERS = {
    "aq": "'", "cq": "'", "oq": "'", "lq": '"', "rq": '"', "dq": '"', "bu": "*", "em": " - ", "en": "-", "hy": "-",
    "ti": "~", "ha": "^", "ga": "`", "rs": "\\", "la": "<", "ra": ">", "->": "->", "<-": "<-", "co": "(c)", "mc": "u",
    "Aq": "'", "mu": "x", "+-": "+/-", "<=": "<=", ">=": ">=", "!=": "!=", "sq": "[]", "lB": "[", "rB": "]",
}  # fmt: skip
ESCAPE = re.compile(
    r"\\(?:f(?:\[[^]]*\]|\(..|.)|s[-+]?\d+|[hvwl]'[^']*'|\*?\((..)|\*?\[([^]]*)\]|\*(.)|([-.e ~0^|&:/,%!'`{}c]))"
)


@dataclasses.dataclass
class Block:
    """A piece of a page: "heading", "term" (an option, a flag; its meaning follows) or "text"."""

    kind: str
    text: str


def plain(text):
    """Without escapes and fonts."""

    def meaning(match):
        name = match.group(1) or match.group(2) or match.group(3)
        if name is not None:
            return CHARACTERS.get(name, "")
        return {"-": "-", ".": ".", "e": "\\", " ": " ", "~": " ", "0": " ", "'": "'", "`": "`"}.get(match.group(4), "")

    return ESCAPE.sub(meaning, text)


def arguments(line):
    """The words after a request; a quoted one may hold blanks."""
    return [a or b for a, b in re.findall(r'"((?:[^"]|"")*)"|(\S+)', line)]


class Reader:
    def __init__(self):
        self.blocks = []
        self.words = []
        self.term_next = False
        self.literal = False

    def end(self, kind="text"):
        text = ("\n" if self.literal else " ").join(self.words)
        text = text if self.literal else re.sub(r"\s+", " ", text)
        if text.strip():
            self.blocks.append(Block(kind, text.strip("\n") if self.literal else text.strip()))
        self.words = []

    def text(self, text):
        if self.term_next:
            self.term_next = False
            self.end()
            self.words = [text]
            self.end("term")
        else:
            self.words.append(text)

    def request(self, name, rest):
        if name in ("SH", "SS"):
            self.end()
            self.term_next = False
            self.words = [plain(" ".join(arguments(rest)))]
            self.end("heading")
        elif name in PARAGRAPHS:
            self.end()
        elif name in ("TP", "TQ"):
            self.end()
            self.term_next = True
        elif name == "IP":
            self.end()
            tag = plain((arguments(rest) or [""])[0])
            if tag.strip(" *-.()0123456789"):
                self.words = [tag]
                self.end("term")
        elif name == "RS":
            # Pages made from AsciiDoc: a paragraph, then what it means further right.
            self.end("term" if len(self.words) == 1 and self.words[0].startswith("-") else "text")
        elif name == "RE":
            self.end()
        elif name in ("nf", "EX"):
            self.end()
            self.literal = True
        elif name in ("fi", "EE"):
            self.end()
            self.literal = False
        elif name in FONTS:
            self.text(plain(" ".join(arguments(rest))))
        elif name in ALTERNATING:
            self.text(plain("".join(arguments(rest))))

    def read(self, source):
        skip = 0  # depth of conditional blocks, which only move things about
        for line in source.replace("\\\n", "").splitlines():
            if skip or re.match(r"[.']\s*(ie|el|if)\b", line):
                skip += line.count(r"\{") - line.count(r"\}")
                continue
            if line.startswith((".", "'")):
                match = re.match(r"[.']\s*(\w+)\s*(.*)", line)
                if match:
                    self.request(match.group(1), re.sub(r'\\".*', "", match.group(2)))
            else:
                self.text(plain(re.sub(r'\\".*', "", line)))
        self.end()
        return self.blocks


def read_page(path):
    """The blocks of a page, gzip or plain; none for a page that only points to another."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    source = data.decode("utf-8", errors="replace")
    return [] if source.lstrip().startswith(".so ") else Reader().read(source)


def page_text(blocks):
    """The text of a page, and where the text of each block begins in it (characters)."""
    parts, starts, at = [], [], 0
    for previous, block in zip([None, *blocks], blocks):
        gap = "" if previous is None else "\n    " if previous.kind == "term" and block.kind == "text" else "\n\n"
        at += len(gap)
        starts.append(at)
        parts.append(gap + block.text)
        at += len(block.text)
    return "".join(parts), starts
