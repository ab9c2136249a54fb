#!/usr/bin/env python3
"""Refuses an #include that goes upward or sideways between the folders, and files that grew too long.

    check_includes.py [ROOT]

LAYERS is the one place where the layers stand; docs/architecture.md draws them. A folder may include folders of a lower
number, narrowed by `only` where it is given, and itself. Prints one line for each fault; exit status 1 if there was one.
"""

import os
import pathlib
import re
import sys
from dataclasses import dataclass

MAXIMUM_LINES = 800


@dataclass(frozen=True)
class Layer:
    number: int
    only: tuple = None  # folders below that it may use; None: all of them
    torch: bool = False  # may include LibTorch
    highway: bool = False  # may include Highway


# Longest prefix wins: longspan/kernels/local belongs to "longspan/kernels".
LAYERS = {
    "longspan/base": Layer(0),
    "longspan/simd": Layer(1, highway=True),
    "longspan/kernels": Layer(2, only=("longspan/base", "longspan/simd"), highway=True),
    "longspan/patterns": Layer(2, only=("longspan/base",)),
    "longspan/io": Layer(1, only=("longspan/base",)),
    "longspan/text": Layer(2, only=("longspan/base", "longspan/io")),
    "longspan/metrics": Layer(2, only=("longspan/base",)),
    "longspan/ops": Layer(
        3, only=("longspan/base", "longspan/simd", "longspan/kernels", "longspan/patterns"), torch=True),
    "longspan/spectra": Layer(3, only=("longspan/base", "longspan/patterns")),
    "longspan/data": Layer(3, only=("longspan/base", "longspan/text", "longspan/io", "longspan/patterns")),
    "longspan/nn": Layer(4, torch=True),
    "longspan/models": Layer(5, torch=True),
    "longspan/train": Layer(6, torch=True),
    "longspan/report": Layer(6, only=("longspan/base", "longspan/io")),
    "longspan/tasks": Layer(7, torch=True),
    "tools": Layer(8, torch=True),
    "python": Layer(8, torch=True),
    # Beside the layers. The slow references share only base with the fast code, so that a fault cannot hide in both.
    "longspan/testing": Layer(1, only=("longspan/base",)),
    "longspan/testing/properties": Layer(8, torch=True),
    "tests": Layer(9, torch=True, highway=True),
    "benchmarks": Layer(9, torch=True, highway=True),
    "examples": Layer(9, torch=True),
    "fuzz": Layer(9),
    "cmake/gloo_declarations": Layer(0),
}

# Folders whose subfolders do not see each other, except the shared one named here.
SEPARATE = {"longspan/kernels": "common", "longspan/ops": "common"}

# Test support: only these may include it.
TESTING = "longspan/testing"
MAY_TEST = ("longspan/testing", "longspan/testing/properties", "tests", "benchmarks")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CODE = {".h", ".hpp", ".c", ".cc", ".cpp", ".cu", ".cuh"}
COUNTED = CODE | {".py", ".sh", ".cmake", ".txt"}
OUTPUTS = re.compile(r"^(build.*|demo)$")  # of the root, as in .gitignore
TORCH = ("torch/", "ATen/", "c10/")


def layer_of(path):
    """The key of LAYERS that a repository path lies in, or None."""
    matches = [key for key in LAYERS if path == key or path.startswith(key + "/")]
    return max(matches, key=len, default=None)


def part_of(path, layer):
    """The subfolder of a SEPARATE layer that a path lies in; "" for files directly in it."""
    rest = path[len(layer) + 1:]
    return rest.split("/")[0] if "/" in rest else ""


def fault_of_include(source, target):
    """What is wrong with `source` (a file) including `target` (a path from the root), or None."""
    own, other = layer_of(source), layer_of(target)
    if other is None:
        return "%s is in no layer of ci/check_includes.py" % target
    if other.startswith(TESTING) and own not in MAY_TEST:
        return "test support is for tests alone"
    if own == other:
        if own in SEPARATE:
            mine, theirs = part_of(source, own), part_of(target, own)
            if theirs not in (mine, "", SEPARATE[own]):
                return "%s/%s and %s/%s do not see each other" % (own, mine, own, theirs)
        return None
    if LAYERS[other].number >= LAYERS[own].number:
        return "%s (layer %d) may not include %s (layer %d)" % (own, LAYERS[own].number, other, LAYERS[other].number)
    if LAYERS[own].only is not None and other not in LAYERS[own].only:
        return "%s may include only %s" % (own, ", ".join(LAYERS[own].only))
    return None


def faults_of_file(root, path):
    """Yields (line number, text) for each fault of the C++ file `path`, relative to `root`."""
    own = layer_of(path)
    if own is None:
        yield 1, "this folder is in no layer of ci/check_includes.py"
        return
    with open(os.path.join(root, path), encoding="utf-8") as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        if target.startswith(TORCH):
            if not LAYERS[own].torch:
                yield number, "%s is free of LibTorch, yet includes %s" % (own, target)
        elif target.startswith("hwy/"):
            if not LAYERS[own].highway:
                yield number, "%s does not use Highway, yet includes %s" % (own, target)
        else:
            beside = "%s/%s" % (os.path.dirname(path), target)
            if quote == '"' and ".." not in target and os.path.isfile(os.path.join(root, beside)):
                target = beside
            if os.path.isfile(os.path.join(root, target)):
                fault = fault_of_include(path, target)
                if fault:
                    yield number, fault
            elif quote == '"' or target.startswith("longspan/"):
                # An include by a path with ".." would escape the check.
                yield number, "there is no file %s, from the root or beside this one" % target


def source_files(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name for name in folders
            if not name.startswith((".", "__")) and not (folder == root and OUTPUTS.match(name)))
        for name in sorted(files):
            yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def check(root):
    """All faults below `root` as lines "file:line: text"."""
    faults = []
    for path in source_files(root):
        suffix = pathlib.PurePosixPath(path).suffix
        if suffix in COUNTED:
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                length = sum(1 for _ in file)
            if length > MAXIMUM_LINES:
                faults.append("%s:%d: longer than %d lines; cut it by ideas" % (path, length, MAXIMUM_LINES))
        if suffix in CODE:
            faults += ["%s:%d: %s" % (path, number, text) for number, text in faults_of_file(root, path)]
    return faults


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else str(pathlib.Path(__file__).resolve().parent.parent)
    faults = check(root)
    for fault in faults:
        print(fault)
    print("include check: %d faults" % len(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
