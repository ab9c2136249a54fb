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
import subprocess
import sys
import unicodedata
import unittest

import tokenizers_help

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
        cls.lines = tokenizers_help.edge_cases() + [mixed.text(mixed.draw.randint(1, 200)) for _ in range(1500)]
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
                self.fail(tokenizers_help.first_difference(text, ids or [], expected, tokenizer.id_to_token))

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
        charsmap = tokenizers_help.field_of(tokenizers_help.field_of(prefix.with_suffix(".model").read_bytes(), 3), 2)
        steps = [{"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
                 {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]
        self.compare_variant("precompiled", "unigram", normalizer={"type": "Sequence", "normalizers": steps})

    def test_ranks(self):
        import tiktoken
        import tiktoken_ext.openai_public as public
        names = self.models["bpe"].get_vocab()
        alphabet = {name: byte for byte, name in enumerate(tokenizers_help.byte_alphabet())}
        tokens = sorted((i, name) for name, i in names.items() if name != "<|endoftext|>")
        ranks = {bytes(alphabet[c] for c in name): rank for rank, (_, name) in enumerate(tokens)}
        patterns = {"gpt2": public.r50k_pat_str, "cl100k": tokenizers_help.pattern_of(public.cl100k_base),
                    "o200k": tokenizers_help.pattern_of(public.o200k_base)}
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
                        self.fail(tokenizers_help.first_difference(text, ids, expected, lambda i: other.decode_bytes([i])))

    def test_gpt2(self):
        """The published ranks of GPT-2, which the source package of Whisper holds."""
        import tiktoken
        import tiktoken_ext.openai_public as public
        path = tokenizers_help.gpt2_ranks(self.work)
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
                self.fail(tokenizers_help.first_difference(text, ids, expected, lambda i: other.decode_bytes([i])))

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

    def test_word_level(self):
        """Words that are tokens or nothing, cut in every way that has no test above."""
        words = sorted({word for text in self.texts[:1] for word in text.split()})[:4000]
        vocabulary = {word: i for i, word in enumerate(["[UNK]", *words])}
        model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
        content = json.loads((self.work / "wordpiece.json").read_text())
        content.update(model=model, added_tokens=[], post_processor=None)
        (self.work / "words.json").write_text(json.dumps(content))
        steps = {"delimiter": {"type": "CharDelimiterSplit", "delimiter": "a"},
                 "delimiter-blank": {"type": "CharDelimiterSplit", "delimiter": " "},
                 "delimiter-wide": {"type": "CharDelimiterSplit", "delimiter": "\u3000"},
                 "fixed": {"type": "FixedLength", "length": 3},
                 "scripts": {"type": "UnicodeScripts"},
                 "digits": {"type": "Digits", "individual_digits": False},
                 **{"punctuation-" + behavior: {"type": "Punctuation", "behavior": behavior}
                    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")},
                 "both": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "UnicodeScripts"},
                                                                 {"type": "FixedLength", "length": 2}]}}
        for name, step in steps.items():
            self.compare_variant("words-" + name, "words", pre_tokenizer=step)
            self.compare_variant("pieces-" + name, "wordpiece", pre_tokenizer=step)
        self.compare_variant("nmt", "words", normalizer={"type": "Nmt"})
        self.compare_variant("nmt-pieces", "unigram", normalizer={"type": "Nmt"})

    def test_ends(self):
        """Where tokens end in the text that was given, whatever became of it."""
        # Marks that change places are where the library counts on as if they had not.
        lines = [text for text in self.lines if text and unicodedata.normalize("NFKD", text) == "".join(
            unicodedata.normalize("NFKD", character) for character in text)] + ["\uc548\ub155 \uc138\uacc4", "Ti\u1ebfng Vi\u1ec7t \u0111\u1eb9p", "\u00eb\u00e0", "\u0130stanbul"]
        steps = [("wordpiece", None)] + [("wordpiece", form) for form in ("NFD", "NFKD")] + [("bpe", "Lowercase"), ("bpe", "NFD")]
        for base, form in steps:
            with self.subTest("%s %s" % (base, form)):
                changes = {"normalizer": {"type": form}} if form else {}
                path, tokenizer = self.variant("ends", base, **changes)
                for text, own in zip(lines, self.program.ids(path, lines, "ends")):
                    bytes_before = [0]
                    for character in text:
                        bytes_before.append(bytes_before[-1] + len(character.encode()))
                    expected, end = [], 0
                    for _, place in tokenizer.encode(text, add_special_tokens=False).offsets:
                        # A mark that goes belongs to its letter here.
                        end = max(end, bytes_before[behind_marks(text, place) if not form else place])
                        expected.append(end)
                    # The last token stands for all that is left, too.
                    self.assertEqual(own[:-1], expected[:-1], repr(text[:80]))

    def test_texts_without_blanks(self):
        """Longer than a piece, so that they are cut beside punctuation."""
        blanks = {code: None for code in range(0x3001) if chr(code).isspace()}
        marks = list(".,;:!?()[]{}\"'-_/\u2019\u3002\uff0c\u3001\u00b7\u2014") + ["'s", "'S,", "a'b.", "_."]
        draw, parts = self.mixed.draw, []
        for _ in range(40_000):
            parts += [self.mixed.part().translate(blanks), draw.choice(marks) if draw.random() < 0.3 else ""]
        texts = ["".join(parts), "\u4e2d\u6587\u5b57\uff0c\u6ca1\u6709\u7a7a\u683c\u3002" * 10_000,
                 json.dumps({"k%d" % i: ["v", i, {"a": "b'c"}] for i in range(9000)}, separators=(",", ":"))]
        level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
        variants = [("bpe", {}), ("bpe", {"normalizer": {"type": "NFKC"}}), ("bpe", {"pre_tokenizer": level}),
                    ("wordpiece", {"added_tokens": []}),
                    ("wordpiece", {"added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}})]
        for behavior in ("Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
            variants.append(("wordpiece", {"added_tokens": [], "pre_tokenizer": {"type": "Punctuation", "behavior": behavior}}))
        for base, changes in variants:
            with self.subTest("%s %s" % (base, changes)):
                path, tokenizer = self.variant("no-blanks", base, **changes)
                self.compare(path, tokenizer, texts)

    def test_trained_with_other_special_tokens(self):
        """The script's file is one that can be used, and no larger than asked for."""
        import train_tokenizer
        training = self.work / "many-letters.txt"
        training.write_text(self.texts[0])  # of thousands of letters
        for model, unknown in (("bpe", None), ("wordpiece", "[UNK]")):
            path = self.work / "special.json"
            tokenizer = train_tokenizer.train(self.tokenizers, [str(training)], model, 2000, ["<x>"])
            tokenizer.save(str(path))
            self.assertLessEqual(tokenizer.get_vocab_size(), 2000)
            self.assertEqual(unknown is None or unknown in tokenizer.get_vocab(), True)
            self.compare(path, tokenizer, self.lines[:300])
            self.assertEqual(self.program.ids(path, ["<x>"]), [[tokenizer.token_to_id("<x>")]])

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


def behind_marks(text, place):
    """Where the accents end that BERT takes away behind a letter, with controls between that it takes away, too."""
    end = place
    if place == 0 or "\u4e00" <= text[place - 1] <= "\u9fff":  # behind which it puts a blank
        return place
    for i in range(place, len(text)):
        category = unicodedata.category(text[i])
        if category == "Mn":
            end = i + 1
        elif category not in ("Cc", "Cf") or text[i] in "\t\n\r":
            break
    return end


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
    Comparison.program, Comparison.work, Comparison.size = tokenizers_help.Program(options.ids), options.work, options.size
    unittest.main(argv=[sys.argv[0], *options.tests], verbosity=2)


if __name__ == "__main__":
    main()
