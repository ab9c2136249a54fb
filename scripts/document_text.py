"""The texts behind the document demo: chapters of novels, a FAQ, manual pages with their options, by split."""

import collections
import gzip
import hashlib
import re

import man_text
import novels

page_text = man_text.page_text

# A page longer than this is a table of contents or a change log: it would outweigh all others.
LONGEST_PAGE = 120_000
# Capitalised words that are no names.
ALWAYS_CAPITAL = {"I", "God", "Heaven", "Christmas", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday",
                  "Saturday", "January", "February", "March", "April", "May", "June", "July", "August", "September",
                  "October", "November", "December", "Mr", "Mrs", "Miss", "Sir", "Lady", "Dr", "Colonel", "Captain",
                  "English", "French", "Someone"}  # fmt: skip


def chapters(text):
    """The chapters of a novel; what stands before the first is left out."""
    parts = re.split(r"(?m)^\s*(?:CHAPTER|Chapter) [IVXLC\d]+\.?\s*$", text)
    parts = [re.sub(r"(?m)^\s*VOLUME [IVX]+\s*$", "", part).strip() for part in parts[1:]]
    if len(parts) < 4:
        raise novels.NovelsError("a novel has fewer than four chapters")
    return parts


def halves(parts):
    """The first half of a book for training; of the second, the first third for validation, the rest for the test."""
    middle = len(parts) // 2
    third = middle + max(1, (len(parts) - middle) // 3)
    return {"train": parts[:middle], "valid": parts[middle:third], "test": parts[third:]}


def without_names(texts):
    """Novels with "Someone" for every name of a person or place, by which a novel could be told."""
    capital, lower = collections.Counter(), collections.Counter()
    for text in texts.values():
        # Within a sentence: behind a small letter or a comma.
        capital.update(re.findall(r"(?<=[a-z,;] )[A-Z][a-z]+", text))
        lower.update(re.findall(r"\b[a-z]+\b", text))
    names = {word for word, count in capital.items() if count > lower[word.lower()] and word not in ALWAYS_CAPITAL}

    def hidden(match):
        return "Someone" if match.group(0).capitalize() in names else match.group(0)

    return {name: re.sub(r"\b[A-Z](?:[a-z]+|[A-Z]+)\b", hidden, text) for name, text in texts.items()}


def split_of(name):
    """Seven tenths of all documents are trained on, drawn by their names."""
    number = hashlib.sha256(name.encode()).digest()[0] * 10 // 256
    return "train" if number < 7 else "valid" if number < 8 else "test"


def by_split(items):
    out = {"train": {}, "valid": {}, "test": {}}
    for name, value in items.items():
        out[split_of(name)][name] = value
    return out


def faq(package):
    """The files of "An Anarchist FAQ" without marks, by split."""
    texts = {}
    for path in sorted(package.rglob("markdown/*.md.gz")):
        text = gzip.decompress(path.read_bytes()).decode("utf-8", errors="replace")
        text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)  # links
        texts[path.name.removesuffix(".md.gz")] = re.sub(r"[*_#>`|\\]+", "", text)
    if not texts:
        raise novels.NovelsError(f"{package}: holds no FAQ")
    return {split: list(of_split.values()) for split, of_split in by_split(texts).items()}


def manual_pages(packages):
    """Blocks of every manual page by its name, "git-commit(1)", by split. Aliases of a page are left out."""
    pages = {}
    for path in sorted(path for package in packages for path in package.glob("usr/share/man/man*/*.gz")):
        if path.is_symlink():
            continue
        blocks = man_text.read_page(path)
        name, section = path.name.removesuffix(".gz").rsplit(".", 1)
        if 200 < sum(len(block.text) for block in blocks) < LONGEST_PAGE:
            pages[f"{name}({section})"] = blocks
    if not pages:
        raise novels.NovelsError("no manual pages in " + ", ".join(map(str, packages)))
    return by_split(pages)


def first_sentence(text):
    match = re.match(r".{10,}?[.:;](?=\s+[A-Z(]|\s*$)", text, re.DOTALL)
    return match.group(0) if match else None


def option_questions(name, blocks, words, rng):
    """A question for every option or flag of a page: its meaning is the first sentence behind it. The context is a part
    of the page of at most `words` words, in which the answer may stand anywhere."""
    text, starts = page_text(blocks)
    word_starts = [match.start() for match in re.finditer(r"\S+", text)]
    terms = collections.Counter(block.text for block in blocks if block.kind == "term")
    out = []
    for (term, term_at), (body, body_at) in zip(zip(blocks, starts), list(zip(blocks, starts))[1:]):
        if term.kind != "term" or body.kind != "text" or terms[term.text] > 1 or len(term.text) > 60:
            continue
        answer = first_sentence(body.text)
        if answer is None or not 3 <= len(answer.split()) <= 40:
            continue
        end = body_at + len(answer)
        # The words of the page from which a context may begin and still hold term and answer.
        last = sum(1 for at in word_starts if at <= term_at) - 1
        first = max(0, sum(1 for at in word_starts if at < end) - words)
        if first > last:
            continue
        begin = rng.randint(first, last)
        stop = min(begin + words, len(word_starts))
        context_end = word_starts[stop] if stop < len(word_starts) else len(text)
        context = text[word_starts[begin] : context_end].rstrip()
        start = len(text[word_starts[begin] : body_at].encode("utf-8"))
        out.append(
            {
                "question": f"{name}: {term.text}",
                "context": context,
                "answers": [{"text": answer, "start": start}],
            }
        )
    return out


def sources(packages):
    """Package, version and the file of its licence."""
    out = [{"text": "six novels by Jane Austen", "package": "r-cran-janeaustenr", "licence": "public domain"}]
    for package in packages:
        version = package / "VERSION"
        out.append(
            {
                "package": package.name,
                "version": version.read_text().strip() if version.is_file() else "unknown",
                "licence": f"usr/share/doc/{package.name}/copyright in the package",
            }
        )
    return out
