"""longspan tokenize, and byte pairs from prepare to score."""

import json
import os

import harness


def alphabet():
    """The characters of the bytes in files of byte-level tokenizers."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def tokenizer(merges):
    names = alphabet()
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    pairs = [["".join(names[byte] for byte in part.encode()) for part in merge] for merge in merges]
    vocabulary = {name: i for i, name in enumerate(names + [a + b for a, b in pairs])}
    special = {"id": len(vocabulary), "content": "<|end|>", "single_word": False, "lstrip": False, "rstrip": False,
               "normalized": False, "special": True}
    return json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [special], "normalizer": None,
                       "pre_tokenizer": level, "post_processor": None, "decoder": level,
                       "model": {"type": "BPE", "vocab": vocabulary, "merges": pairs}}).encode()


MERGES = [("t", "h"), ("th", "e"), (" ", "s"), (" s", "e"), (" se", "a"), ("w", "a"), ("c", "a"), (" ", "wa")]


class TokenizeTest(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("t.json", tokenizer(MERGES))

    def test_pieces_numbers_and_counts(self):
        result = self.succeed("tokenize", "t.json", "the sea<|end|>\n\u4e2d")
        self.assertEqual(result.stdout.decode(),
                         "the| sea|<|end|>|\\n\n257 260 264 10\n\\xe4|\\xb8|\\xad\n228 184 173\n\n7 tokens, 18 bytes, 2.57 bytes per token\n")
        self.assertIn(b"\x1b[", self.succeed("tokenize", "t.json", "the", "--colour", "always").stdout)
        self.assertNotIn(b"\x1b[", self.succeed("tokenize", "t.json", "the", "--colour", "never").stdout)
        shown = self.succeed("tokenize", "t.json", "the sea", "--special-tokens").stdout.decode()
        self.assertTrue(shown.endswith("\n2 tokens\n"), shown)

    def test_json_of_a_stream_of_any_bytes(self):
        text = b"the sea\xff " * 30000
        lines = self.json_lines("tokenize", "t.json", stdin=text)
        self.assertEqual(lines[:3], [{"token": 257, "text": "the", "source_bytes": 3, "special": False},
                                     {"token": 260, "text": " sea", "source_bytes": 4, "special": False},
                                     {"token": 255, "text": "\ufffd", "source_bytes": 1, "special": False, "bytes": [255]}])
        self.assertEqual(lines[-1], {"tokens": 120000, "source_bytes": len(text), "vocabulary": 265})

    def test_refusals(self):
        self.refuse("tokenize", "missing.json", "a", containing=["missing.json"])
        self.write("bad.json", tokenizer(MERGES).replace(b'"normalizer": null', b'"normalizer": {"type": "ByteLevel"}'))
        self.refuse("tokenize", "bad.json", "a", containing=["bad.json: normalizer: the type 'ByteLevel' is not supported"])
        self.refuse("tokenize", "bytes", "a", "--special-tokens", containing=["--special-tokens"])
        self.write("without.json", tokenizer(MERGES).replace(b'"model"', b'"modell"'))
        self.refuse("tokenize", "without.json", "a", containing=["without.json: model is missing"])
        os.mkdir(self.path("empty"))
        self.refuse("tokenize", "empty", "a", containing=["empty: holds no tokenizer"])

    def test_from_prepare_to_score(self):
        self.write("a.txt", harness.text(60000, 1) + b"\xff\n")
        self.succeed("prepare", "a.txt", "--tokenizer", "t.json", "--out", "data", "--quiet", "--threads", "2")
        with open(self.path("data/dataset.json")) as file:
            self.assertEqual(json.load(file)["tokenizer"], "bpe")
        with open(self.path("data/tokenizer.json"), "rb") as file:
            self.assertEqual(file.read(), tokenizer(MERGES))
        self.succeed("train", "data", "--out", "model", "--quiet", *harness.TINY_LAVO, "--set", "train.steps=2")
        for line in self.json_lines("eval", "model", "--data", "data", "--blocks", "2", "--quiet"):
            self.assertGreater(line["bits_per_byte"], 0)
        total = self.json_lines("score", "model", "--quiet", stdin=b"the sea was calm\xff and")[-1]
        self.assertEqual(total["bytes"], 21)
        self.succeed("generate", "model", "--prompt", "the sea", "--tokens", "3")
        self.assertIn(b"the| sea", self.succeed("tokenize", "model", "the sea").stdout)


if __name__ == "__main__":
    harness.main()
