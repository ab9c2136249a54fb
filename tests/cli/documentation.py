"""What docs/cli.md says about JSON: between `<!-- json: NAME -->` and `<!-- /json -->` stands a table whose first column
names the fields of what subcommand NAME prints with --json, or of the file NAME. "a.b" is a member of the object a, "a[].b"
of the objects in the array a; what an object holds of which no member is documented is left open."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/cli.md"
BLOCK = re.compile(r"<!-- json: ([a-z. -]+) -->\n(.*?)<!-- /json -->", re.S)


def documented():
    """NAME -> the fields, in order."""
    found = {}
    for name, table in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        assert name not in found, "docs/cli.md: two tables for %s" % name
        found[name] = [field for line in table.splitlines()[2:] if line.startswith("| `")
                       for field in re.findall(r"`([^`]+)`", line.split("|")[1])]
    return found


def undocumented(fields, value, prefix=""):
    """Paths of `value`, an object, that are not among `fields`."""
    wrong = []
    for name, member in value.items():
        path = prefix + name
        if path not in fields:
            wrong.append(path)
        elif isinstance(member, dict) and any(field.startswith(path + ".") for field in fields):
            wrong += undocumented(fields, member, path + ".")
        elif isinstance(member, list) and any(field.startswith(path + "[].") for field in fields):
            for entry in member:
                wrong += undocumented(fields, entry, path + "[].")
    return sorted(set(wrong))


def subcommand(arguments):
    words = [word for word in map(str, arguments) if not word.startswith("-")]
    return " ".join(words[:2] if words[0] in ("inspect", "recall", "study", "task") else words[:1])
