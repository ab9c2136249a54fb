"""Finds and loads liblongspan.so."""

import os
import pathlib

import torch


def load():
    """Loads the library named by LONGSPAN_LIBRARY, else the one beside this package, else the build tree's."""
    here = pathlib.Path(__file__).resolve().parent
    named = os.environ.get("LONGSPAN_LIBRARY")
    candidates = [pathlib.Path(named)] if named else [
        here / "liblongspan.so",
        here.parent.parent / "build" / "lib" / "liblongspan.so",
    ]
    for path in candidates:
        if path.is_file():
            torch.ops.load_library(str(path))
            return
    raise ImportError("longspan: no liblongspan.so at " + " or ".join(map(str, candidates)))
