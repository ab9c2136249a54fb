"""scripts/novels.py on packages made here, byte by byte."""

import contextlib
import gzip
import io
import pathlib
import struct
import sys
import tempfile
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts"))
import novels  # noqa: E402

LATIN1, UTF8, ASCII = 0x4009, 0x8009, 0x40009


def words(*values):
    return b"".join(struct.pack(">I", value & 0xFFFFFFFF) for value in values)


def text(value):
    for flags, encoding in ((ASCII, "ascii"), (UTF8, "utf-8")):
        with contextlib.suppress(UnicodeEncodeError):
            data = value.encode(encoding)
            return words(flags, len(data)) + data
    raise AssertionError


def strings(values):
    return words(16, len(values)) + b"".join(text(value) for value in values)


def header(version):
    return b"X\n" + words(version, 0x40201, 0x20300) + (words(5) + b"UTF-8" if version == 3 else b"")


def index(places):
    """list(variables = list(name = c(offset, length), ...), compressed = 1L); the second `names` is a reference."""
    inner = words(0x213, len(places)) + b"".join(words(13, 2, *place) for place in places.values())
    inner += words(0x402, 1) + text("names") + strings(list(places)) + words(0xFE)
    outer = words(0x213, 2) + inner + words(13, 1, 1)
    return outer + words(0x402, 0x1FF) + strings(["variables", "compressed"]) + words(0xFE)


class NovelsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.data = self.folder / "package/usr/lib/R/site-library/janeaustenr/data"
        self.data.mkdir(parents=True)
        self.output = self.folder / "out"

    def make(self, contents, version=3):
        """Writes a package whose datasets are these serialized objects."""
        database = b""
        places = {}
        for name, content in contents.items():
            raw = header(version) + content
            record = words(len(raw)) + zlib.compress(raw)
            places[name] = (len(database), len(record))
            database += record
        (self.data / "Rdata.rdb").write_bytes(database)
        (self.data / "Rdata.rdx").write_bytes(gzip.compress(header(version) + index(places)))

    def run_script(self):
        """Exit status, standard output, standard error."""
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            status = novels.main([str(self.folder / "package"), str(self.output)])
        return status, out.getvalue(), err.getvalue()

    def refusal(self):
        status, out, err = self.run_script()
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err.count("\n"), 1, err)
        self.assertFalse(self.output.exists())
        return err

    def good(self):
        return {name: strings([name.upper(), "", "naïve line"]) for name in reversed(novels.NOVELS)}

    def test_writes_every_novel(self):
        for version in (2, 3):
            self.make(self.good(), version)
            self.assertEqual(self.run_script()[0], 0)
            self.assertEqual(sorted(p.name for p in self.output.iterdir()), [f"{name}.txt" for name in novels.NOVELS])
            for name in novels.NOVELS:
                self.assertEqual((self.output / f"{name}.txt").read_bytes(), f"{name.upper()}\n\nnaïve line\n".encode())

    def test_second_run_changes_nothing(self):
        self.make(self.good())
        self.run_script()
        before = {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in self.output.iterdir()}
        status, out, _ = self.run_script()
        self.assertEqual(status, 0)
        self.assertEqual(out.count("is there already"), 6)
        self.assertEqual({p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in self.output.iterdir()}, before)
        (self.output / "emma.txt").write_text("damaged")
        self.assertEqual(self.run_script()[1].count("written"), 1)
        self.assertTrue((self.output / "emma.txt").read_text().startswith("EMMA"))

    def test_latin1_text(self):
        contents = self.good()
        contents["emma"] = words(16, 1) + words(LATIN1, 1) + b"\xe9"
        self.make(contents)
        self.run_script()
        self.assertEqual((self.output / "emma.txt").read_text(encoding="utf-8"), "é\n")

    def test_missing_package(self):
        self.assertIn("holds no data of the R package janeaustenr", self.refusal())
        self.data.rename(self.folder / "elsewhere")
        (self.folder / "package").rename(self.folder / "gone")
        self.assertIn("package: no such folder", self.refusal())

    def test_missing_novel(self):
        contents = self.good()
        del contents["persuasion"]
        self.make(contents)
        self.assertIn("has no 'persuasion', only: ", self.refusal())

    def test_other_content(self):
        contents = self.good()
        contents["emma"] = words(13, 2, 1, 2)
        self.make(contents)
        self.assertIn("'emma' is not a list of lines", self.refusal())
        contents["emma"] = words(24, 0)
        self.make(contents)
        self.assertIn("an R object of type 24 is not expected here", self.refusal())
        contents["emma"] = strings(["a"])[:-1]
        self.make(contents)
        self.assertIn("the data end too early", self.refusal())

    def test_damaged_files(self):
        self.make(self.good())
        database = self.data / "Rdata.rdb"
        good = database.read_bytes()
        database.write_bytes(good[:-5])
        self.assertIn("the index points outside the database", self.refusal())
        database.write_bytes(good[:20] + b"\0\0\0\0" + good[24:])
        self.assertIn("cannot be unpacked", self.refusal())
        (self.data / "Rdata.rdx").write_bytes(b"not R")
        self.assertIn("cannot be unpacked", self.refusal())
        (self.data / "Rdata.rdx").write_bytes(gzip.compress(b"A\n3"))
        self.assertIn("not an XDR serialization of R", self.refusal())


if __name__ == "__main__":
    unittest.main()
