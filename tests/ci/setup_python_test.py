#!/usr/bin/env python3
"""scripts/setup-python.sh: which interpreter a build folder gets, from one call of make to the next."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


class SetupPythonTest(unittest.TestCase):
    """Interpreters that say of themselves whether they fit."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copytree(SCRIPTS, self.root / "scripts")
        self.default = self.interpreter("bin/python3")
        self.other = self.interpreter("elsewhere/python")

    def interpreter(self, name):
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\necho 'torch 9.9'\n")
        path.chmod(0o755)
        return str(path)

    def choose(self, named=None):
        environment = {**os.environ, "PATH": "%s:%s" % (self.root / "bin", os.environ["PATH"])}
        environment.pop("PYTHON", None)
        if named:
            environment["PYTHON"] = named
        result = subprocess.run(["bash", str(self.root / "scripts/setup-python.sh")], env=environment, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return (self.root / "build/setup/python").read_text().strip()

    def test_the_default(self):
        self.assertEqual(self.choose(), self.default)

    def test_a_named_one_stays_until_another_is_named(self):
        self.assertEqual(self.choose(self.other), self.other)
        self.assertEqual(self.choose(), self.other)
        self.assertEqual(self.choose(self.default), self.default)
        self.assertEqual(self.choose(), self.default)

    def test_a_named_one_that_is_gone(self):
        self.choose(self.other)
        os.remove(self.other)
        self.assertEqual(self.choose(), self.default)


if __name__ == "__main__":
    unittest.main()
