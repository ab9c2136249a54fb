#!/usr/bin/env python3
"""Token for token what the packages `tokenizers` and `tiktoken` give.

usage: tokenizers_test.py --ids PROGRAM --work FOLDER [--size BYTES]

Both are installed from PyPI into a virtual environment in FOLDER, once. Exit status 77 where PyPI cannot be reached.
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SHARED = ROOT.parent / "shared/data"
PACKAGES = ["tokenizers==0.23.3", "tiktoken==0.14.0"]
SKIPPED = 77


def enter_environment(work):
    """Goes on in an interpreter that has the packages."""
    python = work / "environment/bin/python"
    ready = work / "environment/ready"
    if not ready.is_file() or ready.read_text() != "\n".join(PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", "--clear", work / "environment"], check=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            print("skipped: pip cannot install %s: %s" % (", ".join(PACKAGES), done.stderr.strip().splitlines()[-1:]))
            sys.exit(SKIPPED)
        ready.write_text("\n".join(PACKAGES))
    os.execv(python, [str(python), "-B", __file__, *sys.argv[1:], "--inside"])


class Program:
    """longspan's tokens of texts."""

    def __init__(self, path):
        self.path = path

    def run(self, tokenizer, texts, *mode):
        texts = [text if isinstance(text, bytes) else text.encode() for text in texts]
        data = b"".join(struct.pack("<I", len(text)) + text for text in texts)
        done = subprocess.run([self.path, str(tokenizer), *mode], input=data, capture_output=True)
        if done.returncode != 0:
            raise AssertionError(done.stderr.decode())
        return done.stdout

    def ids(self, tokenizer, texts, *mode):
        out, at, all_ids = self.run(tokenizer, texts, *mode), 0, []
        while at < len(out):
            (count,) = struct.unpack_from("<I", out, at)
            if count == 0xFFFFFFFF:
                all_ids.append(None)
                count = 0
            else:
                all_ids.append(list(struct.unpack_from("<%dI" % count, out, at + 4)))
            at += 4 + 4 * count
        return all_ids

    def texts(self, tokenizer, texts):
        out, at, all_texts = self.run(tokenizer, texts, "text"), 0, []
        while at < len(out):
            (size,) = struct.unpack_from("<I", out, at)
            all_texts.append(out[at + 4:at + 4 + size])
            at += 4 + size
        return all_texts


def first_difference(text, own, other, name_of):
    """Where two lists of tokens part, for a message."""
    at = next((i for i, (a, b) in enumerate(zip(own, other)) if a != b), min(len(own), len(other)))
    return "token %d of %d (%d expected): got %s, expected %s, in %r" % (
        at, len(own), len(other), [name_of(i) for i in own[max(0, at - 2):at + 4]],
        [name_of(i) for i in other[max(0, at - 2):at + 4]], text[:60])


class Comparison(unittest.TestCase):
    maxDiff = 2000
    program = work = None
    size = 10_000_000

    @classmethod
    def setUpClass(cls):
        import mixed_text
        sys.path.insert(0, str(ROOT / "scripts"))
        import tokenizers
        import train_tokenizer
        words = ("the of and a in to was it for on with as be by at this not are from or had an they which one you were "
                 "all her she there would their we him been has when who will no more if out so up said what its about "
                 "than into them can only other time new some could these two may first then do any like my now over "
                 "such our man me even most made after also did many off before must well back through years much where "
                 "your way down should because each just those people how too little state good very make world still "
                 "see own work long here get both between life being under three never know same last another while us "
                 "might great old year off come since go against came right used take internationalization").split()
        mixed = mixed_text.Mixed(1, words)
        cls.mixed = mixed
        # Texts of 1 MB, longer than any piece.
        cls.texts = [mixed.text(min(cls.size, 1_000_000)) for _ in range(max(1, cls.size // 1_000_000))]
        cls.lines = edge_cases() + [mixed.text(mixed.draw.randint(1, 200)) for _ in range(1500)]
        training = cls.work / "training.txt"
        # Of few scripts, so that there is something that no vocabulary has.
        training.write_text(mixed_text.Mixed(2, words, ("latin", "accents", "greek", "cyrillic", "arabic")).text(700_000))
        cls.tokenizers, cls.models = tokenizers, {}
        for model, size in (("bpe", 3000), ("wordpiece", 5000), ("unigram", 6000)):
            path = str(cls.work / (model + ".json"))
            train_tokenizer.train(tokenizers, [str(training)], model, size).save(path)
            # What the package reads, which for scores is not in every bit what it wrote.
            cls.models[model] = tokenizers.Tokenizer.from_file(path)

    def compare(self, path, tokenizer, texts, special=False):
        own = self.program.ids(path, texts, *(["special"] if special else []))
        for text, ids in zip(texts, own):
            expected = tokenizer.encode(text, add_special_tokens=special).ids
            if ids != expected:
                self.fail(first_difference(text, ids or [], expected, tokenizer.id_to_token))

    def variant(self, name, base, **changes):
        """A tokenizer.json with other fields, and what the package makes of it."""
        content = json.loads((self.work / (base + ".json")).read_text())
        for field, value in changes.items():
            if isinstance(value, dict) and field == "model":
                content["model"].update(value)
            else:
                content[field] = value
        path = self.work / (name + ".json")
        path.write_text(json.dumps(content))
        return path, self.tokenizers.Tokenizer.from_file(str(path))

    def compare_variant(self, name, base, special=False, **changes):
        with self.subTest(name):
            path, tokenizer = self.variant(name, base, **changes)
            self.compare(path, tokenizer, self.lines, special)
            self.compare(path, tokenizer, [self.texts[0][:200_000]])

    def test_byte_level(self):
        self.compare(self.work / "bpe.json", self.models["bpe"], self.texts)
        self.compare(self.work / "bpe.json", self.models["bpe"], self.lines)
        self.assertEqual(self.program.texts(self.work / "bpe.json", self.texts), [text.encode() for text in self.texts])

    def test_any_bytes_come_back(self):
        draw = self.mixed.draw
        texts = [draw.randbytes(draw.randint(0, 400)) for _ in range(500)] + [draw.randbytes(300_000)]
        for text in self.lines[:500]:
            broken = bytearray(text.encode())
            for _ in range(len(broken) // 20 + 1):
                if broken:
                    broken[draw.randrange(len(broken))] = draw.randrange(256)
            texts.append(bytes(broken))
        self.assertEqual(self.program.texts(self.work / "bpe.json", texts), texts)

    def test_wordpiece(self):
        self.compare(self.work / "wordpiece.json", self.models["wordpiece"], self.texts[:2] + self.lines)
        self.compare(self.work / "wordpiece.json", self.models["wordpiece"], self.lines, special=True)

    def test_unigram(self):
        self.compare(self.work / "unigram.json", self.models["unigram"], self.texts[:2] + self.lines)

    @unittest.skipUnless(shutil.which("spm_train"), "no spm_train here")
    def test_precompiled(self):
        """What SentencePiece normalises by default, as it stands in the files of T5 and XLM-RoBERTa."""
        prefix = self.work / "precompiled"
        subprocess.run(["spm_train", "--input=%s" % (self.work / "training.txt"), "--model_prefix=%s" % prefix,
                        "--vocab_size=600", "--hard_vocab_limit=false", "--minloglevel=2"], check=True, capture_output=True)
        charsmap = field_of(field_of(prefix.with_suffix(".model").read_bytes(), 3), 2)
        steps = [{"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
                 {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]
        self.compare_variant("precompiled", "unigram", normalizer={"type": "Sequence", "normalizers": steps})

    def test_ranks(self):
        import tiktoken
        import tiktoken_ext.openai_public as public
        names = self.models["bpe"].get_vocab()
        alphabet = {name: byte for byte, name in enumerate(byte_alphabet())}
        tokens = sorted((i, name) for name, i in names.items() if name != "<|endoftext|>")
        ranks = {bytes(alphabet[c] for c in name): rank for rank, (_, name) in enumerate(tokens)}
        patterns = {"gpt2": public.r50k_pat_str, "cl100k": pattern_of(public.cl100k_base),
                    "o200k": pattern_of(public.o200k_base)}
        for name, pattern in patterns.items():
            with self.subTest(name):
                path = self.work / (name + ".tiktoken")
                path.write_text("".join("%s %d\n" % (base64.b64encode(token).decode(), rank)
                                        for token, rank in ranks.items()))
                special = {"<|endoftext|>": len(ranks)}
                other = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
                # Special tokens of the published vocabularies alone are in no text here but this one.
                texts = (self.texts if name == "gpt2" else self.texts[:4]) + self.lines
                for text, ids in zip(texts, self.program.ids(path, texts)):
                    expected = other.encode(text, allowed_special={"<|endoftext|>"}, disallowed_special=())
                    if ids != expected:
                        self.fail(first_difference(text, ids, expected, lambda i: other.decode_bytes([i])))

    def test_gpt2(self):
        """The published ranks of GPT-2, which the source package of Whisper holds."""
        import tiktoken
        import tiktoken_ext.openai_public as public
        path = gpt2_ranks(self.work)
        if path is None:
            self.skipTest("pip cannot fetch openai-whisper")
        golden = {"Hello world": [15496, 995], "Hello, my dog is cute": [15496, 11, 616, 3290, 318, 13779],
                  "<|endoftext|>": [50256]}
        self.assertEqual(self.program.ids(path, list(golden)), list(golden.values()))
        ranks = {base64.b64decode(line.split()[0]): int(line.split()[1]) for line in path.read_text().splitlines()}
        other = tiktoken.Encoding("gpt2", pat_str=public.r50k_pat_str, mergeable_ranks=ranks,
                                  special_tokens={"<|endoftext|>": 50256})
        texts = self.texts[:3] + self.lines
        for text, ids in zip(texts, self.program.ids(path, texts)):
            expected = other.encode(text, allowed_special="all")
            if ids != expected:
                self.fail(first_difference(text, ids, expected, lambda i: other.decode_bytes([i])))

    def test_byte_level_variants(self):
        level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
        plain = {**level, "add_prefix_space": False, "use_regex": False}
        split = {"type": "Split", "behavior": "Isolated", "invert": False}
        llama = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
                 r"|\s+(?!\S)|\s+")
        self.compare_variant("prefix", "bpe", pre_tokenizer=level)
        self.compare_variant("digits", "bpe", pre_tokenizer={"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True}, {**level, "add_prefix_space": False}]})
        self.compare_variant("llama3", "bpe", model={"ignore_merges": True}, pre_tokenizer={
            "type": "Sequence", "pretokenizers": [{**split, "pattern": {"Regex": llama}}, plain]})
        self.compare_variant("nfc", "bpe", normalizer={"type": "NFC"})
        for behavior in ("Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
            for invert in (False, True):
                steps = [{**split, "behavior": behavior, "invert": invert, "pattern": {"Regex": r"[aeiou]|\s+"}}, plain]
                self.compare_variant("split", "bpe", pre_tokenizer={"type": "Sequence", "pretokenizers": steps})
        self.compare_variant("string", "bpe", pre_tokenizer={"type": "Sequence", "pretokenizers": [
            {**split, "pattern": {"String": "."}}, {"type": "Punctuation", "behavior": "Contiguous"}, plain]})
        self.compare_variant("words", "bpe", pre_tokenizer={"type": "Sequence", "pretokenizers": [
            {**split, "pattern": {"Regex": r"\w+|[^\w\s]+|\s+"}}, plain]})

    def test_added_tokens(self):
        def token(i, content, **flags):
            return {"id": i, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
                    "normalized": False, "special": True, **flags}

        content = json.loads((self.work / "bpe.json").read_text())
        size = len(content["model"]["vocab"])
        added = content["added_tokens"] + [
            token(size, "<mask>", lstrip=True), token(size + 1, "<end>", rstrip=True), token(size + 2, "<|a|>"),
            token(size + 3, "<|a|><|b|>"), token(size + 4, "zq", single_word=True, special=False),
            token(size + 5, "  ", special=False), token(size + 6, "New York", normalized=True, special=False),
            token(size + 7, "<both>", lstrip=True, rstrip=True)]
        draw = self.mixed.draw
        texts = ["".join(draw.choice([entry["content"] for entry in added] + [" ", "  ", "\n", "a", "then", "b. ", "new york",
                                                                              "<|a|", "\u00e9", "_", "1"])
                         for _ in range(draw.randint(1, 12))) for _ in range(1500)]
        for name, normalizer in (("added", None), ("added-lower", {"type": "Lowercase"})):
            with self.subTest(name):
                path, tokenizer = self.variant(name, "bpe", added_tokens=added, normalizer=normalizer)
                self.compare(path, tokenizer, texts)

    def test_characters(self):
        """BPE over characters with a sign for blanks, as Llama 2 has it: byte fallback, unknown tokens, no words."""
        trainer = self.tokenizers.trainers.BpeTrainer(vocab_size=900, show_progress=False, limit_alphabet=200,
                                                      special_tokens=["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)])
        tokenizer = self.tokenizers.Tokenizer(self.tokenizers.models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
        tokenizer.pre_tokenizer = self.tokenizers.pre_tokenizers.Metaspace()
        tokenizer.train([str(self.work / "training.txt")], trainer)
        tokenizer.save(str(self.work / "characters.json"))
        content = json.loads((self.work / "characters.json").read_text())
        content["added_tokens"] = content["added_tokens"][:3]
        (self.work / "characters.json").write_text(json.dumps(content))
        vocabulary = {name: i for name, i in content["model"]["vocab"].items() if name != "<0x41>"}
        self.compare_variant("metaspace", "characters")
        for scheme in ("first", "never"):
            self.compare_variant("metaspace-" + scheme, "characters", pre_tokenizer={
                "type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": True})
        self.compare_variant("whole", "characters", pre_tokenizer={
            "type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False})
        self.compare_variant("llama2", "characters", pre_tokenizer=None, normalizer={"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]})
        self.compare_variant("unknown", "characters", model={"byte_fallback": False})
        self.compare_variant("unknown-each", "characters", model={"byte_fallback": False, "fuse_unk": False})
        self.compare_variant("dropped", "characters", model={"byte_fallback": False, "unk_token": None})
        self.compare_variant("few-bytes", "characters", model={"vocab": vocabulary})

    def test_wordpiece_variants(self):
        bert = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                "lowercase": True}
        self.compare_variant("cased", "wordpiece", normalizer={**bert, "lowercase": False})
        self.compare_variant("accents", "wordpiece", normalizer={**bert, "strip_accents": False})
        self.compare_variant("plain", "wordpiece", normalizer={**bert, "clean_text": False, "handle_chinese_chars": False})
        self.compare_variant("short", "wordpiece", model={"max_input_chars_per_word": 4})
        self.compare_variant("whitespace", "wordpiece", pre_tokenizer={"type": "Whitespace"}, normalizer=None)
        self.compare_variant("whitespace-split", "wordpiece", pre_tokenizer={"type": "WhitespaceSplit"})
        for form in ("NFD", "NFKC", "NFKD"):
            self.compare_variant(form, "wordpiece", normalizer={"type": "Sequence", "normalizers": [
                {"type": form}, {"type": "StripAccents"}, {"type": "Lowercase"},
                {"type": "Strip", "strip_left": True, "strip_right": True}]})

    def test_templates(self):
        template = {"type": "TemplateProcessing",
                    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                               {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
                    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2, 2], "tokens": ["[CLS]", "[CLS]"]},
                                       "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}}
        self.compare_variant("template", "wordpiece", special=True, post_processor=template)
        self.compare_variant("roberta", "wordpiece", special=True, post_processor={
            "type": "RobertaProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2], "trim_offsets": True,
            "add_prefix_space": True})

    def test_decoders(self):
        for name, model in self.models.items():
            with self.subTest(name):
                texts = [text for text in self.lines if "\x00" not in text][:700]
                path = self.work / (name + ".json")
                own = self.program.texts(path, texts)
                for text, back, ids in zip(texts, own, self.program.ids(path, texts)):
                    self.assertEqual(back.decode(errors="replace"), model.decode(ids, skip_special_tokens=False), repr(text))

    @unittest.skipUnless((SHARED / "roberta-vocabulary/vocab.json").is_file(), "no RoBERTa vocabulary here")
    def test_roberta(self):
        folder = SHARED / "roberta-vocabulary"
        tokenizer = self.tokenizers.ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
        tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", self.tokenizers.AddedToken("<mask>", lstrip=True)])
        self.compare(folder, tokenizer, [text.replace("<|endoftext|>", "") for text in self.texts[:3] + self.lines])


def edge_cases():
    return ["", " ", "  ", "\n", "a", " a", "  a", "a ", "a  ", "a\n", "\n\na", "'", "'s", "it's", "I'LL", "\u0301", " \u0301", "a\u0301",
            "\u1e9b\u0323", "\u0130I", "\u4e2d\u6587", "a\u4e2d", "\U0001F468\u200D\U0001F469", "0" * 1000, " " * 3000, "a" * 20000, "\u00e9" * 5000,
            "<0x41>", "<unk>", "\u2581", "\u2581a", "a\u2581 b", "\x00", "a\x00b", "\ufeffa", "\u200b", "x" * 101, "x" * 100, "\uac00\u1100\u1161",
            "a . b ? do not he 's", "[CLS] x [SEP]", "a[MASK]b", "<|endoftext|>", "<|endoftext|>a <|endoftext|> b", "\x85a", "\u180ea"]


def field_of(message, wanted):
    """The last bytes of a field of a protocol buffer."""
    at, found = 0, b""

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 2:
            size = number()
            if key >> 3 == wanted:
                found = message[at:at + size]
            at += size
        elif key & 7 == 0:
            number()
        else:
            at += {1: 8, 5: 4}[key & 7]
    return found


def gpt2_ranks(work):
    """Fetched once; None where PyPI cannot be reached."""
    target = work / "published/gpt2.tiktoken"
    if not target.is_file():
        folder = work / "download"
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                               "--no-binary", "openai-whisper", "--dest", folder, "openai-whisper==20250625"],
                              capture_output=True)
        if done.returncode != 0:
            return None
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            (member,) = [name for name in tar.getnames() if name.endswith("/gpt2.tiktoken")]
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(tar.extractfile(member).read())
    return target


def byte_alphabet():
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def pattern_of(make):
    """The pattern in a definition of tiktoken's, without the file of ranks that it would fetch."""
    import tiktoken_ext.openai_public as public
    original = public.load_tiktoken_bpe
    public.load_tiktoken_bpe = lambda *unused, **also: {}
    try:
        return make()["pat_str"]
    finally:
        public.load_tiktoken_bpe = original


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ids", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--size", type=int, default=10_000_000)
    parser.add_argument("--inside", action="store_true")
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if not options.inside:
        enter_environment(options.work)
    sys.path.insert(0, str(HERE))
    Comparison.program, Comparison.work, Comparison.size = Program(options.ids), options.work, options.size
    unittest.main(argv=[sys.argv[0], *options.tests], verbosity=2)


if __name__ == "__main__":
    main()
