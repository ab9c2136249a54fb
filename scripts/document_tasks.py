#!/usr/bin/env python3
"""Makes the tasks of the document demo from unpacked Debian packages and the novels.

usage: document_tasks.py --novels FOLDER --faq PACKAGE --manuals PACKAGE... --output FOLDER

The novels are the text files of novels.py. A package is a folder into which one was unpacked (dpkg -x), with its version
in the file VERSION: "An Anarchist FAQ" of the package anarchism, and packages of manual pages. The output receives a
folder for each task, with train.jsonl, valid.jsonl and test.jsonl, and sources.json: from which packages, in which
versions, under which licence, and how many documents. The same input gives the same bytes.

Splits are by document: a chapter, a chapter of the FAQ or a manual page is in one split alone.

  author   Who wrote this short passage: Jane Austen (austen) or the authors of "An Anarchist FAQ" (faq)? Easy; what is
           learned from it helps with the next.
  near     Who wrote the first passage, and who the last? Four short passages, nothing between them. Every document has
           three siblings of exactly the same words, one for each other answer, so that word counts say nothing; and no
           part of the document without both ends has the answer.
  middle   The same with longer passages, the middle two within pages of manuals: some 250 tokens between first and last.
  pairs    The same with more than 2,000 tokens between them.
  novel    From which of six novels is this window of chapters? The novels' first halves are trained on, their second
           halves are not. Names of people and places stand for nothing: every name is replaced by "Someone".
  options  What does this option or flag mean? The answer is a part of the manual page.
  manuals  Manual pages, to learn to fill in masked words.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import random
import re
import sys

import document_text
import novels

WINDOW = 1000  # words of a document of `novel`
STRIDE = 400
PASSAGE = {"author": 72, "near": 24, "middle": 72, "pairs": 72}  # words of a passage
BETWEEN = {"near": 48, "middle": 180, "pairs": 1700}  # words between the first passage and the last, two passages among them
AUTHOR = {"train": 4000, "valid": 200, "test": 400}
PAIRS = {  # each makes four documents
    "near": {"train": 3000, "valid": 50, "test": 100},
    "middle": {"train": 1000, "valid": 50, "test": 100},
    "pairs": {"train": 1000, "valid": 50, "test": 100},
}
CONTEXT = 1600  # words of a context of `options`
OPTIONS = {"train": 4000, "valid": 200, "test": 400}
SPLITS = ("train", "valid", "test")


def draw(*key):
    """Random numbers that depend on the key alone."""
    return random.Random(hashlib.sha256("/".join(map(str, key)).encode()).digest())


def novel_documents(texts):
    texts = document_text.without_names(texts)
    out = {split: [] for split in SPLITS}
    for name, text in sorted(texts.items()):
        for split, chapters in document_text.halves(document_text.chapters(text)).items():
            words = " ".join(chapters).split()
            stride = STRIDE if split == "train" else WINDOW
            for first in range(0, len(words) - WINDOW + 1, stride):
                out[split].append({"text": " ".join(words[first : first + WINDOW]), "label": name})
    return out


def dense(words):
    """Whether words are tables and code rather than prose: such text has several times as many tokens as prose of as
    many words. A token is taken to be up to eight letters of English, or any other character."""
    text = " ".join(words)
    letters = re.findall(r"[A-Za-z]+", text)
    tokens = sum(1 + len(run) // 9 for run in letters) + len(re.sub(r"[A-Za-z\s]", "", text))
    return tokens > 1.8 * len(words)


class Passages:
    """Runs of words from a list of documents."""

    def __init__(self, documents, size):
        self.documents = [words for words in (document.split() for document in documents) if len(words) >= size]
        self.weights = [len(words) - size + 1 for words in self.documents]
        self.size = size

    def pick(self, rng):
        for _ in range(100):
            words = rng.choices(self.documents, weights=self.weights)[0]
            first = rng.randrange(len(words) - self.size + 1)
            passage = words[first : first + self.size]
            if not dense(passage):
                return passage
        raise novels.NovelsError("the documents are tables and code alone")


def author_documents(authors):
    """`authors`: documents by split, by author."""
    out = {split: [] for split in SPLITS}
    for split in SPLITS:
        passages = {name: Passages(documents[split], PASSAGE["author"]) for name, documents in sorted(authors.items())}
        for number in range(AUTHOR[split]):
            rng = draw("author", split, number)
            name = rng.choice(sorted(passages))
            out[split].append({"text": " ".join(passages[name].pick(rng)), "label": name})
    return out


def pair_documents(task, authors, manuals):
    """`manuals`: documents by split."""
    out = {split: [] for split in SPLITS}
    size = PASSAGE[task]
    half = BETWEEN[task] // 2 - size
    for split in SPLITS:
        passages = {name: Passages(documents[split], size) for name, documents in sorted(authors.items())}
        fillers = Passages(manuals[split], half)
        for number in range(PAIRS[task][split]):
            rng = draw(task, split, number)
            drawn = [(name, passages[name].pick(rng)) for name in sorted(passages) for _ in range(2)]
            rng.shuffle(drawn)
            halves = [fillers.pick(rng) for _ in range(2)]
            places = [rng.randrange(half + 1) for _ in range(2)]
            for first in sorted(passages):
                for last in sorted(passages):
                    rest = list(drawn)
                    ends = [rest.pop([name for name, _ in rest].index(wanted)) for wanted in (first, last)]
                    parts = ["FIRST PASSAGE:".split(), ends[0][1]]
                    for words, place, (_, passage) in zip(halves, places, rest):
                        parts += [words[:place], passage, words[place:]]
                    parts += ["LAST PASSAGE:".split(), ends[1][1]]
                    text = " ".join(word for part in parts for word in part)
                    out[split].append({"text": text, "label": f"{first}-{last}"})
    return out


def option_documents(pages):
    """`pages`: blocks by name, by split."""
    out = {}
    for split in SPLITS:
        found = []
        for name, blocks in sorted(pages[split].items()):
            found += document_text.option_questions(name, blocks, CONTEXT, draw("options", name))
        draw("options", split).shuffle(found)
        out[split] = found[: OPTIONS[split]]
    return out


def write(output, task, documents):
    """In an order that says nothing, so that any part of a split is like the whole."""
    folder = output / task
    folder.mkdir(parents=True, exist_ok=True)
    for split, records in documents.items():
        records = draw("order", task, split).sample(records, len(records))
        lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        novels.write_aside(folder / f"{split}.jsonl", lines.encode("utf-8"))
    return {split: len(records) for split, records in documents.items()}


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Makes the tasks of the document demo.")
    parser.add_argument("--novels", type=pathlib.Path, required=True, help="folder of the novels")
    parser.add_argument("--faq", type=pathlib.Path, required=True, help="the unpacked package of the FAQ")
    parser.add_argument("--manuals", type=pathlib.Path, nargs="+", required=True, help="unpacked packages of manual pages")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder for the tasks")
    options = parser.parse_args(arguments)
    try:
        texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(options.novels.glob("*.txt"))}
        if not texts:
            raise novels.NovelsError(f"{options.novels}: holds no novel")
        pages = document_text.manual_pages(options.manuals)
        manuals = {
            split: [document_text.page_text(blocks)[0] for _, blocks in sorted(pages[split].items())]
            for split in SPLITS
        }
        austen = collections.defaultdict(list)
        for _, text in sorted(texts.items()):
            for split, chapters in document_text.halves(document_text.chapters(text)).items():
                austen[split] += chapters
        faq = document_text.faq(options.faq)
        authors = {"austen": austen, "faq": faq}
        counts = {
            "author": write(options.output, "author", author_documents(authors)),
            "novel": write(options.output, "novel", novel_documents(texts)),
            **{task: write(options.output, task, pair_documents(task, authors, manuals)) for task in BETWEEN},
            "options": write(options.output, "options", option_documents(pages)),
            "manuals": write(
                options.output, "manuals", {split: [{"text": t} for t in manuals[split]] for split in SPLITS}
            ),
        }
        sources = {
            "documents": counts,
            "passage_words": PASSAGE,
            "sources": document_text.sources([options.faq, *options.manuals]),
        }
        novels.write_aside(options.output / "sources.json", (json.dumps(sources, indent=2) + "\n").encode("utf-8"))
    except (novels.NovelsError, OSError, UnicodeError) as error:
        print(f"document_tasks.py: {error}", file=sys.stderr)
        return 1
    for task, sizes in counts.items():
        print(f"{task}: " + ", ".join(f"{sizes[split]} {split}" for split in SPLITS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
