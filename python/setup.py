"""Puts a built liblongspan.so into the package; everything else stands in pyproject.toml."""

import os
import pathlib

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        default = pathlib.Path(__file__).resolve().parent.parent / "build" / "lib" / "liblongspan.so"
        library = pathlib.Path(os.environ.get("LONGSPAN_LIBRARY", default))
        if not library.is_file():
            raise SystemExit(f"longspan: {library}: no such library; run `make build` first or set LONGSPAN_LIBRARY")
        target = pathlib.Path(self.build_lib) / "longspan"
        self.mkpath(str(target))
        self.copy_file(str(library.resolve()), str(target / "liblongspan.so"))


class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        return True  # the wheel holds a library of this platform


setup(cmdclass={"build_py": BuildWithLibrary}, distclass=PlatformDistribution)
