#!/usr/bin/env python3
"""Writes the six novels of the R package janeaustenr as text files.

usage: novels.py PACKAGE OUTPUT

PACKAGE is the folder into which the Debian package r-cran-janeaustenr was unpacked (dpkg -x). OUTPUT receives one UTF-8
file per novel: emma.txt, mansfieldpark.txt, northangerabbey.txt, persuasion.txt, prideprejudice.txt,
sensesensibility.txt. A second run changes nothing.

R keeps the data of a package in two files. The index (.rdx) is a compressed R serialization of
list(variables = list(name = c(offset, length), ...), ...); at these places of the database (.rdb) stands a record: the
unpacked length as 4 bytes, big endian, and a zlib stream that holds the serialization of one object.
"""

import argparse
import os
import pathlib
import struct
import sys
import tempfile
import zlib

NOVELS = ("emma", "mansfieldpark", "northangerabbey", "persuasion", "prideprejudice", "sensesensibility")

# Codes of R's serialization (R Internals, "Serialization formats").
SYMBOL, PAIRLIST, CHARSXP, LOGICAL, INTEGER, REAL, STRINGS, LIST = 1, 2, 9, 10, 13, 14, 16, 19
NULL, REFERENCE = 254, 255
HAS_ATTRIBUTES, HAS_TAG = 0x200, 0x400
# Bits of a CHARSXP's flags that name its encoding.
LATIN1, UTF8, ASCII = 1 << 14, 1 << 15, 1 << 18


class NovelsError(Exception):
    """One line for a person."""


class Reader:
    """Reads R objects from an XDR serialization (format "X", versions 2 and 3)."""

    def __init__(self, data):
        self.data = data
        self.position = 0
        self.references = []
        self.native = "utf-8"
        if self.take(2) != b"X\n":
            raise NovelsError("not an XDR serialization of R")
        version, _, _ = self.integer(), self.integer(), self.integer()
        if version == 3:
            self.native = self.take(self.integer()).decode("ascii")
        elif version != 2:
            raise NovelsError(f"serialization version {version} is not known")

    def take(self, size):
        if size < 0 or size > len(self.data) - self.position:
            raise NovelsError("the data end too early")
        self.position += size
        return self.data[self.position - size : self.position]

    def integer(self):
        return struct.unpack(">i", self.take(4))[0]

    def object(self):
        """Lists with names become dicts, pair lists dicts by tag, vectors Python lists, a missing value None."""
        flags = self.integer() & 0xFFFFFFFF
        kind = flags & 0xFF
        if kind == NULL:
            return None
        if kind == REFERENCE:
            index = flags >> 8 or self.integer()
            if not 1 <= index <= len(self.references):
                raise NovelsError("a reference to nothing")
            return self.references[index - 1]
        if kind == SYMBOL:
            self.references.append(self.object())
            return self.references[-1]
        if kind == CHARSXP:
            return self.text(flags)
        if kind == PAIRLIST:
            return self.pairlist(flags)
        value = self.vector(kind)
        attributes = self.object() if flags & HAS_ATTRIBUTES else None
        names = (attributes or {}).get("names")
        return dict(zip(names, value)) if names is not None else value

    def text(self, flags):
        size = self.integer()
        if size == -1:
            return None
        encoding = (
            "utf-8" if flags & UTF8 else "latin-1" if flags & LATIN1 else "ascii" if flags & ASCII else self.native
        )
        return self.take(size).decode(encoding)

    def vector(self, kind):
        size = self.integer()
        if kind in (STRINGS, LIST):
            return [self.object() for _ in range(size)]
        if kind in (INTEGER, LOGICAL):
            return list(struct.unpack(f">{size}i", self.take(4 * size)))
        if kind == REAL:
            return list(struct.unpack(f">{size}d", self.take(8 * size)))
        raise NovelsError(f"an R object of type {kind} is not expected here")

    def pairlist(self, flags):
        out = {}
        while flags & 0xFF == PAIRLIST:
            if flags & HAS_ATTRIBUTES:
                self.object()
            tag = self.object() if flags & HAS_TAG else len(out)
            out[tag] = self.object()
            flags = self.integer() & 0xFFFFFFFF
        if flags & 0xFF != NULL:
            raise NovelsError("a pair list without an end")
        return out


def unpack(data):
    """Undoes gzip or zlib, whichever it is."""
    try:
        return zlib.decompress(data, wbits=zlib.MAX_WBITS | 32)
    except zlib.error as error:
        raise NovelsError(f"cannot be unpacked: {error}") from error


def record(database, place):
    """The object at `place`, [offset, length], of a database."""
    offset, length = (int(number) for number in place)
    if offset < 0 or length < 4 or offset + length > len(database):
        raise NovelsError(f"the index points outside the database: {offset} + {length}")
    size = struct.unpack(">I", database[offset : offset + 4])[0]
    data = unpack(database[offset + 4 : offset + length])
    if len(data) != size:
        raise NovelsError(f"a record has {len(data)} bytes, expected {size}")
    return Reader(data).object()


def find_database(package):
    """Path of the data files without their suffix."""
    if not package.is_dir():
        raise NovelsError(f"{package}: no such folder")
    for name in ("Rdata", "sysdata"):
        for index in sorted(package.rglob(f"janeaustenr/**/{name}.rdx")):
            if index.with_suffix(".rdb").is_file():
                return index.with_suffix("")
    raise NovelsError(f"{package}: holds no data of the R package janeaustenr (Rdata.rdx and Rdata.rdb)")


def read_novels(database_path):
    """Name to text. Lines are joined by line breaks; the last line has one too."""
    index_path, data_path = database_path.with_suffix(".rdx"), database_path.with_suffix(".rdb")
    try:
        index = Reader(unpack(index_path.read_bytes())).object()
        places = index["variables"]
        database = data_path.read_bytes()
        novels = {}
        for name in NOVELS:
            if name not in places:
                raise NovelsError(f"has no '{name}', only: {', '.join(places)}")
            lines = record(database, places[name])
            if not isinstance(lines, list) or not lines or not all(isinstance(line, str) for line in lines):
                raise NovelsError(f"'{name}' is not a list of lines")
            novels[name] = "\n".join(lines) + "\n"
        return novels
    except (NovelsError, OSError, UnicodeError, LookupError, TypeError, ValueError, struct.error) as error:
        raise NovelsError(f"{index_path}: {error}") from error


def write_aside(path, data):
    """Writes whole or not at all; leaves a file alone that is right already. True when it wrote."""
    if path.is_file() and path.read_bytes() == data:
        return False
    descriptor, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), 0o644)
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise
    return True


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Writes the novels of the R package janeaustenr as text files.")
    parser.add_argument("package", type=pathlib.Path, help="folder of the unpacked package r-cran-janeaustenr")
    parser.add_argument("output", type=pathlib.Path, help="folder for the text files")
    options = parser.parse_args(arguments)
    try:
        novels = read_novels(find_database(options.package))
        options.output.mkdir(parents=True, exist_ok=True)
        for name, text in novels.items():
            data = text.encode("utf-8")
            path = options.output / f"{name}.txt"
            state = "written" if write_aside(path, data) else "is there already"
            print(f"{path}: {len(data)} bytes, {state}")
    except (NovelsError, OSError) as error:
        print(f"novels.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
