"""What the comparison with `tokenizers` and `tiktoken` is made with: longspan's program, published files, odd texts."""

import struct
import subprocess
import sys
import tarfile


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
