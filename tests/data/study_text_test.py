#!/usr/bin/env python3
"""Tests of scripts/study_text.py."""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/study_text.py"


class StudyText(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "novels").mkdir()
        for name in ["emma", "persuasion"]:
            (self.folder / f"novels/{name}.txt").write_text(f"{name}, a novel\n")
        man = self.folder / "package/usr/share/man/man1"
        man.mkdir(parents=True)
        for name in ["perlfunc", "perlop", "perltoc", "perl5380delta", "git-add", "short"]:
            words = "a word or two " * (1 if name == "short" else 40)
            with gzip.open(man / f"{name}.1.gz", "wt") as file:
                file.write(f".TH X 1\n.SH NAME\n{name} \\- does \\fBthings\\fR\n.PP\n{words}\n")
        (self.folder / "package/VERSION").write_text("1.2-3\n")

    def run_script(self):
        return subprocess.run([sys.executable, "-B", SCRIPT, "--novels", self.folder / "novels", "--manuals", self.folder / "package", "--output",
                               self.folder / "out"], capture_output=True, text=True)

    def test_whole_documents_are_held_out(self):
        result = self.run_script()
        self.assertEqual(result.returncode, 0, result.stderr)
        names = {part: sorted(path.stem for path in (self.folder / "out" / part).iterdir()) for part in ["train", "held-out"]}
        self.assertEqual(names, {"train": ["emma", "git-add"], "held-out": ["perlfunc", "perlop", "persuasion"]})
        text = (self.folder / "out/train/git-add.txt").read_text()
        self.assertTrue(text.startswith("NAME\n\ngit-add - does things"), text)
        sources = json.loads((self.folder / "out/sources.json").read_text())
        self.assertEqual(sources["packages"], {"package": "1.2-3"})
        for part in names:
            self.assertEqual(sources["bytes"][part], sum(path.stat().st_size for path in (self.folder / "out" / part).iterdir()))

    def test_what_is_missing_is_named(self):
        (self.folder / "novels/persuasion.txt").unlink()
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "study_text.py: persuasion is not among the texts\n")


if __name__ == "__main__":
    unittest.main()
