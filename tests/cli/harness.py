"""Runs the program longspan in tests. Standard library only."""

import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

import documentation

PROGRAM = None

# A model that trains in seconds.
TINY = [
    "--set", "model.layers=2", "--set", "model.width=16", "--set", "model.heads=2", "--set", "model.feed_forward=32",
    "--set", "train.length=64", "--set", "train.warmup=2", "--set", "train.valid_blocks=2",
]
TINY_LAVO = TINY + ["--set", "model.attention_options.r=4", "--set", "model.attention_options.w=8"]


def text(size, seed):
    """`size` bytes of text from a small vocabulary, the same for a seed everywhere."""
    draw = random.Random(seed)
    words = ["the", "sea", "was", "calm", "and", "a", "ship", "came", "in", "with", "no", "sail"]
    out = []
    length = 0
    while length < size:
        out.append(draw.choice(words))
        length += len(out[-1]) + 1
    return " ".join(out).encode()[:size]


class ProgramTest(unittest.TestCase):
    """Every test has an empty folder of its own as working directory."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = self._folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def run_program(self, *arguments, stdin=b"", environment=None):
        return subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, input=stdin, capture_output=True, timeout=300,
                              env={**os.environ, **(environment or {})})

    def succeed(self, *arguments, **options):
        result = self.run_program(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace"))
        return result

    def json_lines(self, *arguments, **options):
        """What the program prints with --json. Every field must stand in docs/cli.md."""
        result = self.succeed(*arguments, "--json", **options)
        rows = [json.loads(line) for line in result.stdout.decode().splitlines()]
        name = documentation.subcommand(arguments)
        fields = documentation.documented().get(name, [])
        for row in rows:
            self.assertEqual(documentation.undocumented(fields, row), [], "docs/cli.md, the JSON of %s" % name)
        return rows

    def refuse(self, *arguments, status=2, containing=(), **options):
        """The program ends with `status` and exactly one line on stderr, prints nothing and leaves the folder as it was."""
        before = self.listing()
        result = self.run_program(*arguments, **options)
        stderr = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, status, stderr)
        self.assertEqual(result.stdout, b"")
        self.assertEqual(len(stderr.splitlines()), 1, stderr)
        self.assertTrue(stderr.startswith("longspan: ") and stderr.endswith("\n"), stderr)
        for part in containing:
            self.assertIn(str(part), stderr)
        self.assertEqual(self.listing(), before)
        return stderr

    def listing(self):
        """Every path below the folder with its size and content."""
        found = {}
        for root, folders, files in os.walk(self.folder):
            for name in folders:
                found[os.path.join(root, name)] = None
            for name in files:
                with open(os.path.join(root, name), "rb") as file:
                    found[os.path.join(root, name)] = file.read()
        return found

    def spoil(self, folder, name):
        """Makes the first number of a weight NaN, in place."""
        path = self.path(folder + "/model.safetensors")
        with open(path, "rb") as file:
            content = bytearray(file.read())
        size, = struct.unpack("<Q", content[:8])
        begin = 8 + size + json.loads(content[8:8 + size])[name]["data_offsets"][0]
        content[begin:begin + 4] = struct.pack("<f", float("nan"))
        with open(path, "wb") as file:
            file.write(content)

    def prepared(self):
        """A small dataset with a held-out split."""
        self.write("train.txt", text(40000, 1))
        self.write("held-out.txt", text(8000, 2))
        self.succeed("prepare", "train.txt", "--held-out", "held-out.txt", "--out", "data", "--quiet")
        return "data"

    def trained(self, *arguments, steps=3):
        """A dataset and a tiny model on it."""
        if not os.path.exists(self.path("data")):
            self.prepared()
        self.succeed("train", "data", "--out", "model", "--quiet", *TINY_LAVO, "--set", f"train.steps={steps}", *arguments)
        return "model"


def main():
    global PROGRAM
    if "--program" not in sys.argv:
        sys.exit("usage: test.py --program PATH [unittest arguments]")
    at = sys.argv.index("--program")
    PROGRAM = os.path.abspath(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    unittest.main(module="__main__")
