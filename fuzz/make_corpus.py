#!/usr/bin/env python3
"""Writes the seeds of fuzz/corpus/: small files, right ones and nearly right ones, of each kind that a target reads.

    make_corpus.py            writes them (other files of the corpus stay)
    make_corpus.py --check    compares them: exit status 1 where one differs
"""

import base64
import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
CUT = b"\n=\n"
WEIGHTS = "00112233445566778899aabbccddeeff"
MASK = (1 << 64) - 1


def mixed(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def fingerprint(pieces):
    """As longspan/io/fingerprint.cc."""
    a, b = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F

    def word(value):
        nonlocal a, b
        a = (a ^ value) * 0xFF51AFD7ED558CCD & MASK
        a ^= a >> 32
        b = (b + value) * 0xC4CEB9FE1A85EC53 & MASK
        b ^= b >> 29

    for piece in pieces:
        whole = len(piece) // 8 * 8
        for at in range(0, whole, 8):
            word(int.from_bytes(piece[at:at + 8], "little"))
        word(int.from_bytes(piece[whole:], "little"))
        word(len(piece))
    return "%016x%016x" % (mixed(a + b & MASK), mixed(b ^ a >> 1))


def safetensors(tensors, metadata=None, header=None):
    """tensors: name -> (dtype, shape, bytes), laid out in their order."""
    described, at = {}, 0
    if metadata is not None:
        described["__metadata__"] = metadata
    for name, (dtype, shape, content) in tensors.items():
        described[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(described if header is None else header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(content for _, _, content in tensors.values())


def safetensors_seeds():
    two = {"a": ("F32", [2, 3], bytes(24)), "b.weight": ("BF16", [4], b"\1\2" * 4)}
    kinds = {name: (name, [2], bytes(2 * size)) for name, size in
             [("F64", 8), ("I64", 8), ("F32", 4), ("I32", 4), ("F16", 2), ("BF16", 2), ("I16", 2), ("I8", 1), ("U8", 1), ("BOOL", 1)]}
    yield "two", safetensors(two)
    yield "every-dtype", safetensors(kinds, {"format": "longspan.model.1"})
    yield "scalar-and-empty", safetensors({"scalar": ("I64", [], bytes(8)), "none": ("F32", [0, 7], b"")})
    yield "no-tensor", safetensors({})
    yield "metadata-alone", safetensors({}, {"format": "x", "\u00fc": "\u20ac"})
    yield "truncated", safetensors(two)[:-3]
    yield "overlap", safetensors(two, header={"a": {"dtype": "U8", "shape": [24], "data_offsets": [0, 24]},
                                               "b": {"dtype": "U8", "shape": [24], "data_offsets": [8, 32]}})
    yield "huge-shape", safetensors(two, header={"a": {"dtype": "F64", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 32]}})
    yield "huge-header", struct.pack("<Q", (1 << 64) - 1) + b"{}"
    yield "not-an-object", struct.pack("<Q", 2) + b"[]"


def state(streams=1, cache=0, count=5, dtype="F32", pending=(), **changes):
    tensors = {
        "layers.0.count": ("I64", [streams], struct.pack("<q", count) * streams),
        "layers.1.count": ("I64", [streams], struct.pack("<q", count) * streams),
        "positions": ("I64", [streams], struct.pack("<q", count) * streams),
        "session.pending": ("I64", [len(pending)], struct.pack("<%dq" % len(pending), *pending)),
        "layers.0.open": ("F64", [streams, 2, 4], struct.pack("<d", 0.5) * 8 * streams),
        "layers.0.keys": (dtype, [streams, 2, 3, 4], bytes({"F32": 4, "BF16": 2}[dtype]) * 24 * streams),
        "layers.1.keys": ("F32", [streams, 2, cache, 4], struct.pack("<f", 1.5) * 8 * cache * streams),
    }
    pieces = []
    for name in sorted(tensors):
        kind, shape, content = tensors[name]
        pieces += [name.encode(), kind.encode(), json.dumps(shape).encode(), content]
    metadata = {"configuration": '{"layers":2,"attention_options":{"r":4}}', "dtype": "F32", "format": "longspan.state.2", "weights": WEIGHTS,
                **changes}
    content = [fingerprint(pieces).encode()] + [part.encode() for item in sorted(metadata.items()) for part in item]
    return safetensors(tensors, {**metadata, "fingerprint": fingerprint(content)})


def state_seeds():
    yield "fresh", state(count=0)
    yield "one", state(cache=5, pending=(1, 2))
    yield "three-streams", state(streams=3, cache=2)
    yield "no-stream", state(streams=0)
    yield "autocast", state(dtype="BF16")
    yield "negative", state(count=-1)
    yield "too-many", state(count=(1 << 53) + 1)
    yield "much-pending", state(pending=range(9))
    yield "altered", state(cache=5)[:-1] + b"\xff"
    yield "other-weights", state(weights="ff" * 16)
    yield "other-field", state(configuration='{"layers":2,"attention_options":{"r":5}}')
    yield "no-field", state(configuration='{"attention_options":{"r":4,"w":[]}}')
    yield "no-object", state(configuration="[1]")
    yield "other-format", state(format="longspan.state.1")


def config_seeds():
    run = {"model": {"attention": "lavo", "attention_options": {"r": 16, "w": 16, "epe": True}, "layers": 2, "width": 64, "heads": 2,
                     "positions": "rotary", "dropout": 0.1},
           "train": {"steps": 300, "batch": 4, "length": 512, "learning_rate": 3e-3, "autocast": "auto"}}
    yield "empty", b"{}"
    yield "run", json.dumps(run, indent=2).encode()
    yield "set", b"{}" + CUT + b"model.attention_options.r=32\ntrain.steps=3\nmodel.tied=false\nmodel.attention=softmax"
    yield "groups", json.dumps({"model": run["model"]}).encode() + CUT + b'train={"steps":7,"clip":0}\ntrain.steps=null\nmodel.attention_options={}'
    yield "ranges", b'{"train":{"steps":1e3,"seed":9007199254740993,"beta1":-0.0},"model":{"layers":18446744073709551615}}'
    yield "unknown", b'{"model":{"layer":1}}'
    yield "twice", b'{"train":{"steps":1,"steps":2}}'
    yield "deep", b'{"model":' + b"[" * 70 + b"]" * 70 + b"}"
    yield "text", '{"model":{"attention":"\u00fc\\ud83d\\ude00\\n","shape":"llama"}}'.encode()
    yield "bad-utf8", b'{"model":{"attention":"\xff"}}'
    yield "numbers", b'{"train":{"learning_rate":1e-400,"epsilon":0.1e-7,"min_lr_ratio":1E0}}' + CUT + b"train.clip=1e300\ntrain.beta2=nan"
    yield "set-bad-utf8", b"{}" + CUT + b"model.attention_options.\xff=4"


def dataset(tokens, borders=(0,), **changes):
    split = {"tokens": len(tokens), "source_bytes": len(tokens), "documents": len(borders)}
    split.update(changes.pop("split", {}))
    description = {"format_version": 2, "tokenizer": "bytes", "vocabulary": 256, "dtype": "uint8", "splits": {"train": split}}
    description.update(changes)
    return CUT.join([json.dumps(description).encode(), b'{"tokenizer":"bytes"}', struct.pack("<%dQ" % len(borders), *borders), tokens])


def tokens_seeds():
    text = b"It was a dark night.\n"
    yield "bytes", dataset(text)
    yield "every-byte", dataset(bytes(range(256)))
    yield "documents", dataset(text, (0, 3, 9))
    yield "unordered", dataset(text, (0, 9, 3))
    yield "empty-document", dataset(text, (0, 3, 3))
    yield "beyond-the-end", dataset(text, (0, len(text)))
    yield "huge-border", dataset(text, (0, (1 << 64) - 1))
    yield "no-border", dataset(text, ())
    yield "no-split", dataset(text, splits={})
    yield "no-token", dataset(b"")
    yield "counts", dataset(text, split={"tokens": 3})
    yield "many-documents", dataset(text, split={"documents": 1 << 62})
    yield "source-bytes", dataset(text, split={"source_bytes": -1})
    yield "version", dataset(text, format_version=99)
    yield "old-version", dataset(text, format_version=1)
    yield "vocabulary", dataset(text, vocabulary=1 << 32, dtype="uint32")
    yield "other-split", dataset(text, splits={"../train": {}})
    yield "tokenizer", dataset(text).replace(b'{"tokenizer":"bytes"}', b'{"tokenizer":"byte","model":"x"}')


def source_map(lengths, tokens=None, source_bytes=None, start=0, longs=None):
    """Blocks of 256 tokens: the bytes before it and a byte for each token, 255 for the long ones, which stand apart."""
    blocks, before = b"", start
    for at in range(0, len(lengths), 256):
        part = lengths[at:at + 256]
        blocks += struct.pack("<Q", before & MASK) + bytes(min(n, 255) for n in part).ljust(256, b"\0")
        before += sum(part)
    if longs is None:
        longs = [(at, n) for at, n in enumerate(lengths) if n >= 255]
    numbers = [str(len(lengths) if tokens is None else tokens), str(sum(lengths) if source_bytes is None else source_bytes)]
    return CUT.join([number.encode() for number in numbers] + [blocks, b"".join(struct.pack("<QQ", *pair) for pair in longs)])


def source_map_seeds():
    yield "short", source_map([1, 4, 2])
    yield "two-blocks", source_map([3] * 300)
    yield "long", source_map([1, 255, 7, 100000])
    yield "zero", source_map([0, 0, 5])
    yield "no-long-entry", source_map([1, 255, 7], longs=[])
    yield "long-too-short", source_map([1, 255, 7], longs=[(1, 3)])
    yield "unordered-long", source_map([255, 255, 255], longs=[(2, 255), (0, 255), (1, 255)])
    yield "wrong-sum", source_map([1, 2], source_bytes=9)
    yield "wrong-tokens", source_map([1, 2], tokens=900)
    yield "starts-late", source_map([200, 200], source_bytes=(1 << 63) - 1, start=(1 << 63) - 100)
    yield "starts-negative", source_map([200], source_bytes=100, start=-100)
    yield "huge-long", source_map([1, 255, 255], source_bytes=(1 << 63) - 1, longs=[(1, (1 << 63) - 1), (2, (1 << 63) - 1)])


def records_seeds():
    def seed(head, content):
        return head.encode() + CUT + content

    yield "label", seed("jsonl label", b'{"text": "a\\u00fc", "label": 1}\r\n\n{"label": "x", "text": "b"}')
    yield "labels", seed("jsonl labels", b'{"text": "a", "labels": ["x", true, "x"]}\n')
    yield "answers", seed("jsonl question", '{"question": "q", "context": "a \u00fc b", "answers": ["b", {"text": "\u00fc", '
                          '"answer_start": 2}, {"start": 2, "end": 4}]}\n'.encode())
    yield "lists", seed("jsonl question", b'{"question": "q", "context": "a b", "answers": {"text": ["b"], "answer_start": [2]}}')
    yield "within-a-character", seed("jsonl question", '{"question": "q", "context": "\u00fc", "answers": {"start": 1, "end": 2}}'
                                     .encode())
    yield "csv", seed("csv label", b'\xef\xbb\xbftext,label\r\n"a ""b"",\n c",x\r\n\r\nd,"y"')
    yield "csv-labels", seed("csv labels", b"text,labels\na,x; y;\nb,\n")
    yield "csv-question", seed("csv question", b"question,context,answers,start\nq,a b,b,2\nq,c,,\n")
    yield "aliases", seed("jsonl question", b'{"id": 1, "question": "q", "context": "a b", "answers": [], "aliases": ["c", "d"]}')
    yield "choice", seed("jsonl choice", b'{"id": "x", "question": "q", "supports": ["s", "t"], "candidates": ["a", "b"], "answer": "b"}')
    yield "csv-choice", seed("csv choice", b"question,context,candidates,answer\nq,c,a; b,b\n")
    yield "open-quote", seed("csv label", b'text,label\na,b\n"c\nd')
    yield "tsv", seed("tsv label", b"text\tlabel\na, b\tc\n")
    yield "lines", seed("txt line", b"\n\r\none\r\n\ntwo\r")
    yield "text", seed("txt", b"one\ntwo\n")
    yield "utf-16", seed("csv label", "\ufefftext".encode("utf-16-le"))
    yield "bad-utf8", seed("txt", b"a\xff")


def tokenizer_seeds():
    def seed(kind, *parts):
        return CUT.join([kind.encode(), *(part if isinstance(part, bytes) else part.encode() for part in parts)])

    def file(model, **fields):
        return json.dumps({"version": "1.0", "model": model, **fields}, ensure_ascii=False)

    level = {"type": "ByteLevel", "add_prefix_space": True, "use_regex": True}
    pairs = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "\u0120a": 4}, "merges": ["a b", ["\u0120", "a"]]}
    added = [{"id": 5, "content": "<m>", "lstrip": True, "rstrip": True, "special": True, "normalized": False},
             {"id": 1, "content": "b", "single_word": True, "normalized": True}]
    meta = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}
    pieces = {"type": "Unigram", "unk_id": 0, "byte_fallback": True,
              "vocab": [["<unk>", 0.0], ["\u2581", -1.5], ["a", -2.0], ["\u2581ab", -3.0], ["<0xC3>", -9.0], ["<0xBC>", -9.0]]}
    words = {"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9,
             "vocab": {"?": 0, "a": 1, "##b": 2, ",": 3}}
    yield "byte-level", seed("json", file(pairs, pre_tokenizer=level, decoder={"type": "ByteLevel"}, added_tokens=added), "ab <m> b\xff")
    yield "split", seed("json", file(pairs, pre_tokenizer={"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": "[ab]+|\\s"}, "behavior": "MergedWithNext", "invert": True},
        {"type": "Digits", "individual_digits": True}]}, normalizer={"type": "Sequence", "normalizers": [
            {"type": "NFKC"}, {"type": "Strip"}, {"type": "Prepend", "prepend": "b"},
            {"type": "Replace", "pattern": {"String": "."}, "content": ""}]}), "ab 1. \u0065\u0301 b")
    yield "backtracking", seed("json", file(pairs, pre_tokenizer={
        "type": "Split", "pattern": {"Regex": "(a+)+!"}, "behavior": "Removed", "invert": False}), "a" * 20)
    yield "unigram", seed("json", file(pieces, pre_tokenizer=meta, decoder=meta), "ab \u00fc a zz")
    yield "precompiled", seed("json", file(pieces, normalizer={"type": "Precompiled", "precompiled_charsmap": "CAAAAAAEAABBBgAAYgA="}), "ab")
    yield "wordpiece", seed("json", file(words, normalizer={"type": "BertNormalizer"}, pre_tokenizer={"type": "BertPreTokenizer"},
                                         decoder={"type": "WordPiece", "prefix": "##"}, post_processor={
                                             "type": "BertProcessing", "sep": ["a", 1], "cls": ["?", 0]}), "\u00c1B, \u4e2d\x00")
    yield "template", seed("json", file(words, post_processor={
        "type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "?", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"?": {"id": "?", "ids": [0], "tokens": ["?"]}}}), "a")
    whole = {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2}}
    for name, step in (("scripts", {"type": "UnicodeScripts"}), ("fixed-length", {"type": "FixedLength", "length": 2}),
                       ("delimiter", {"type": "CharDelimiterSplit", "delimiter": "|"})):
        yield name, seed("json", file(whole, pre_tokenizer=step, normalizer={"type": "Nmt"}), "  a|b\u3042\u4e2d\u200bb\u0301\x01")
    yield "huge-number", seed("json", file({**pairs, "vocab": {"a": 4294967295}}), "a")
    yield "merges", seed("merges", '{"a": 0, "b": 1, "ab": 2, "<s>": 3, "</s>": 4}', "#version: 0.2\na b\n", "ab<s>")
    ranks = "".join("%s %d\n" % (base64.b64encode(bytes([byte])).decode(), byte) for byte in range(256))
    yield "ranks", seed("ranks", ranks + "dGg= 256\ndGhl 257\n", b"the \xff\xe2\x82 th")
    yield "ranks-twice", seed("ranks", "IQ== 0\nIQ== 1\n", "a")


SEEDS = {"tokenizer": tokenizer_seeds, "safetensors": safetensors_seeds, "state": state_seeds, "config": config_seeds, "tokens": tokens_seeds,
         "source_map": source_map_seeds, "records": records_seeds}


def main():
    check = sys.argv[1:] == ["--check"]
    wrong = []
    for target, seeds in SEEDS.items():
        folder = HERE / "corpus" / target
        for name, content in seeds():
            path = folder / name
            if not check:
                folder.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            elif not path.is_file() or path.read_bytes() != content:
                wrong.append(str(path.relative_to(HERE.parent)))
    if wrong:
        sys.exit("make_corpus.py: not what this script writes: %s; run it" % ", ".join(wrong))


if __name__ == "__main__":
    main()
