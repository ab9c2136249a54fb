#!/usr/bin/env python3
"""Writes the text of `longspan study text` from the novels and unpacked packages of manual pages.

usage: study_text.py --novels FOLDER --manuals PACKAGE... --output FOLDER

The output receives train/ and held-out/, a file for each document, and sources.json: packages, versions, sizes. Held out
are whole documents of more than 64K bytes, a novel and two manuals. The same input gives the same bytes.
"""

import argparse
import json
import pathlib
import sys

import man_text
import novels

HELD_OUT = ("persuasion", "perlfunc", "perlop")
# Indexes of other pages and lists of changes, which repeat what stands elsewhere.
LEFT_OUT = ("perltoc",)
LEAST = 200  # bytes of a page that says something


def pages(packages):
    """Text of every manual page by its name; aliases of a page are left out."""
    out = {}
    for path in sorted(path for package in packages for path in package.glob("usr/share/man/man*/*.gz")):
        name = path.name.removesuffix(".gz").rsplit(".", 1)[0]
        if path.is_symlink() or name in LEFT_OUT or name.endswith("delta"):
            continue
        text, _ = man_text.page_text(man_text.read_page(path))
        if len(text) >= LEAST:
            out[name] = text + "\n"
    if not out:
        raise novels.NovelsError("no manual pages in " + ", ".join(map(str, packages)))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--novels", type=pathlib.Path, required=True, help="folder of the novels' text files")
    parser.add_argument("--manuals", type=pathlib.Path, nargs="+", required=True, help="unpacked packages of manual pages")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder to write")
    options = parser.parse_args()
    try:
        texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(options.novels.glob("*.txt"))}
        texts.update(pages(options.manuals))
        for name in HELD_OUT:
            if name not in texts:
                raise novels.NovelsError(f"{name} is not among the texts")
    except (OSError, novels.NovelsError) as error:
        sys.exit(f"study_text.py: {error}")
    sizes = {"train": 0, "held-out": 0}
    for name, text in texts.items():
        part = "held-out" if name in HELD_OUT else "train"
        content = text.encode("utf-8")
        sizes[part] += len(content)
        path = options.output / part / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    versions = {}
    for package in options.manuals:
        version = package / "VERSION"
        versions[package.name] = version.read_text().strip() if version.is_file() else "unknown"
    with open(options.output / "sources.json", "w", encoding="utf-8") as file:
        json.dump({"packages": versions, "held_out": HELD_OUT, "bytes": sizes}, file, indent=2)
        file.write("\n")
    print(f"longspan: {sizes['train']:,} bytes to train on, {sizes['held-out']:,} held out in {options.output}")


if __name__ == "__main__":
    main()
