#!/usr/bin/env python3
"""Tests of scripts/man_text.py, document_text.py and document_tasks.py."""

import json
import pathlib
import random
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import document_tasks  # noqa: E402
import document_text  # noqa: E402
import man_text  # noqa: E402

PAGE = r'''.TH TOOL 1 "a date"
.SH "NAME"
tool \- does \fBthings\fR
.ie n \{\
\h'-04'\(bu\h'+03'\c
.\}
.SH OPTIONS
.PP
\-q, \-\-quiet
.RS 4
Say nothing at all\&. More follows\&.
.RE
.TP
.BR \-\-force " [" \fIlevel\fP ]
Do it (caf\('e) \\ anyway.
.\" a comment
Second line.
.TP
.B LAST
word
.nf
  kept   as
    it is
.fi
'''


class ManText(unittest.TestCase):
    def test_blocks(self):
        blocks = [(block.kind, block.text) for block in man_text.Reader().read(PAGE)]
        self.assertEqual(
            blocks,
            [
                ("heading", "NAME"),
                ("text", "tool - does things"),
                ("heading", "OPTIONS"),
                ("term", "-q, --quiet"),
                ("text", "Say nothing at all. More follows."),
                ("term", "--force [level]"),
                ("text", "Do it (caf) \\ anyway. Second line."),
                ("term", "LAST"),
                ("text", "word"),
                ("text", "  kept   as\n    it is"),
            ],
        )

    def test_text_and_where_blocks_begin(self):
        blocks = man_text.Reader().read(PAGE)
        text, starts = man_text.page_text(blocks)
        self.assertIn("OPTIONS\n\n-q, --quiet\n    Say nothing at all.", text)
        for block, start in zip(blocks, starts):
            self.assertEqual(text[start : start + len(block.text)], block.text)

    def test_pages_that_point_to_another(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "alias.3"
            path.write_text(".so man3/page.3\n")
            self.assertEqual(man_text.read_page(path), [])


class Options(unittest.TestCase):
    def test_answers_are_where_they_are_said_to_be(self):
        blocks = man_text.Reader().read(PAGE.replace("anyway", "\N{LATIN SMALL LETTER U WITH DIAERESIS}ber all"))
        found = document_text.option_questions("tool(1)", blocks, 20, random.Random(1))
        self.assertEqual([record["question"] for record in found], ["tool(1): -q, --quiet", "tool(1): --force [level]"])
        self.assertEqual(found[0]["answers"][0]["text"], "Say nothing at all.")
        for record in found:
            context = record["context"].encode("utf-8")
            (answer,) = record["answers"]
            size = len(answer["text"].encode("utf-8"))
            self.assertEqual(context[answer["start"] : answer["start"] + size].decode("utf-8"), answer["text"])
            self.assertLessEqual(len(record["context"].split()), 20)


class Novels(unittest.TestCase):
    def test_halves_are_apart(self):
        parts = [f"chapter {i}" for i in range(20)]
        halves = document_text.halves(parts)
        self.assertEqual(halves["train"] + halves["valid"] + halves["test"], parts)
        self.assertEqual(len(halves["train"]), 10)

    def test_names_stand_for_nothing(self):
        text = "The old Emma smiled, Emma and Mr Elton. EMMA said: The end. He saw Emma, and the house, I think."
        hidden = document_text.without_names({"emma": text})["emma"]
        self.assertEqual(
            hidden,
            "The old Someone smiled, Someone and Mr Someone. Someone said: The end. "
            "He saw Someone, and the house, I think.",
        )


def letters(number):
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def author(letter):
    """Documents of words that no other letter or split has."""
    word = "{}{}{}".format
    return {s: [" ".join(word(letter, s[:2], letters(i)) for i in range(600))] for s in document_tasks.SPLITS}


class Pairs(unittest.TestCase):
    def setUp(self):
        sizes, document_tasks.PAIRS = document_tasks.PAIRS, {"middle": {"train": 20, "valid": 4, "test": 8}}
        self.addCleanup(setattr, document_tasks, "PAIRS", sizes)
        manuals = {split: [" ".join("m" + letters(i) for i in range(3000))] for split in document_tasks.SPLITS}
        self.documents = document_tasks.pair_documents("middle", {"x": author("x"), "y": author("y")}, manuals)

    def test_siblings_have_the_same_words_and_every_answer(self):
        for split, documents in self.documents.items():
            self.assertEqual(len(documents), 4 * document_tasks.PAIRS["middle"][split])
            for first in range(0, len(documents), 4):
                siblings = documents[first : first + 4]
                self.assertEqual([d["label"] for d in siblings], ["x-x", "x-y", "y-x", "y-y"])
                self.assertEqual(len({tuple(sorted(d["text"].split())) for d in siblings}), 1)
                for document in siblings:
                    words = document["text"].split()
                    self.assertEqual(words[:2], ["FIRST", "PASSAGE:"])
                    self.assertEqual(words[2][0] + "-" + words[-1][0], document["label"])

    def test_as_far_apart_as_is_said(self):
        for document in self.documents["test"]:
            words = document["text"].split()
            last = words.index("LAST")
            self.assertEqual(len(words) - last - 2, document_tasks.PASSAGE["middle"])
            self.assertEqual(last - 2 - document_tasks.PASSAGE["middle"], document_tasks.BETWEEN["middle"])

    def test_splits_share_no_passage(self):
        for split in document_tasks.SPLITS:
            text = " ".join(document["text"] for document in self.documents[split])
            for other in set(document_tasks.SPLITS) - {split}:
                self.assertNotIn(f"x{other[:2]}", text)

    def test_tables_and_code_are_passed_over(self):
        prose, code = "a word, and another one. " * 20, "x=(a[1]+b[2]); " * 20
        self.assertFalse(document_tasks.dense(prose.split()))
        self.assertTrue(document_tasks.dense(code.split()))
        passages = document_tasks.Passages([code, prose], 10)
        for seed in range(20):
            self.assertNotIn("x=(a[1]+b[2]);", passages.pick(random.Random(seed)))

    def test_passages_are_alike_in_length(self):
        authors = document_tasks.author_documents({"x": author("x"), "y": author("y")})
        self.assertEqual({len(d["text"].split()) for d in authors["train"]}, {document_tasks.PASSAGE["author"]})
        for document in authors["test"]:
            self.assertTrue(document["text"].startswith(document["label"] + "te"))


class Output(unittest.TestCase):
    def test_the_same_input_gives_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            document_tasks.write(root, "task", {"train": [{"text": "\N{LATIN SMALL LETTER E WITH ACUTE}", "label": "a"}]})
            content = (root / "task/train.jsonl").read_text(encoding="utf-8")
            self.assertEqual(json.loads(content)["label"], "a")
            self.assertEqual(document_tasks.draw("a", 1).random(), document_tasks.draw("a", 1).random())
            self.assertNotEqual(document_tasks.draw("a", 1).random(), document_tasks.draw("a", 2).random())

    def test_a_missing_folder_is_named(self):
        self.assertEqual(
            document_tasks.main(["--novels", "/nowhere", "--faq", "/nowhere", "--manuals", "/nowhere", "--output", "/x"]),
            1,
        )


if __name__ == "__main__":
    unittest.main()
