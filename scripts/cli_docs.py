#!/usr/bin/env python3
"""Writes the tables of docs/cli.md that the program knows best.

    cli_docs.py [--check] PROGRAM

Between `<!-- flags: NAME -->` and `<!-- /flags -->` stand the arguments and flags of `longspan NAME --help`, of the common
ones and of the fields of a configuration the names alone; between `<!-- flags -->` and `<!-- /flags -->` the common flags; between `<!-- fields: GROUP -->` and
`<!-- /fields -->` the fields of `longspan inspect config GROUP`. With --check they are compared: exit status 1 where the
page is not current, lacks a subcommand or has one that the program lacks.
"""

import functools
import json
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/cli.md"
FLAGS = re.compile(r"(<!-- flags(?:: ([a-z -]+))? -->\n).*?(<!-- /flags -->)", re.S)
FIELDS = re.compile(r"(<!-- fields: ([a-z0-9_]+) -->\n).*?(<!-- /fields -->)", re.S)
COMMON = "Common flags"
COLUMN = 30  # of the meanings in a help text; a longer left side has its line to itself
LEFT = re.compile(r"\S+( \S+)?( in \[\S+ - \S+\])?( \.\.\.)?( REQUIRED)?(( Needs:| Excludes:)( --\S+)+)*")
GROUPS = ["model", "train", "encoder", "head", "task", "recall", "generate", "pattern"]


def fail(text):
    sys.exit("cli_docs.py: %s" % text)


def halves(line):
    """Left side and meaning of a line of a help text; "" where the meaning begins on the next one."""
    left, _, right = re.sub(r"\s{2,}", "\0", line.strip(), count=1).partition("\0")
    # A left side that just fits is parted from its meaning by a single blank.
    if not right and not LEFT.fullmatch(left) and line[COLUMN - 1 : COLUMN] == " ":
        return [line[:COLUMN].strip(), line[COLUMN:].strip()]
    return [left, right]


class Program:
    def __init__(self, path):
        self.path = str(pathlib.Path(path).resolve())

    def output(self, *arguments):
        result = subprocess.run([self.path, *arguments], capture_output=True, timeout=60)
        if result.returncode != 0:
            fail("%s %s: %s" % (self.path, " ".join(arguments), result.stderr.decode(errors="replace").strip()))
        return result.stdout.decode()

    @functools.cache
    def help(self, name):
        """Sections of the help text of a subcommand ("" for the program): title -> [(names and type, meaning)]."""
        sections, title = {}, None
        for line in self.output(*name.split(), "--help").splitlines():
            if re.match(r"^[A-Z].*:$", line):
                title = line[:-1]
                sections[title] = []
            elif title and re.match(r"^  \S", line):
                sections[title].append(halves(line))
            elif title and re.match(r"^\s{4,}\S", line) and sections[title]:
                sections[title][-1][1] = (sections[title][-1][1] + " " + line.strip()).strip()
        return sections

    def subcommands(self, name=""):
        """Every subcommand that does something, "inspect lavo" among them."""
        below = [left.split()[0] for left, _ in self.help(name).get("Subcommands", [])]
        if not below:
            return [name]
        return [leaf for sub in below for leaf in self.subcommands((name + " " + sub).strip())]

    @functools.cache
    def groups(self):
        """Group -> its fields, those of every attention too."""
        lines = self.output("inspect", "config", *GROUPS, *self.attentions(), "--json").splitlines()
        return {group["group"]: group["fields"] for group in map(json.loads, lines)}

    @functools.cache
    def attentions(self):
        return [json.loads(line)["name"] for line in self.output("inspect", "attentions", "--json").splitlines()]


def cell(text):
    return re.sub(r"<(?=[A-Za-z/!])", "&lt;", text.replace("|", "\\|"))  # <mask> would be taken for HTML


def value_text(type_text):
    """What the help says of a value: "INT:INT in [1 - 64]" -> "integer, 1 to 64"."""
    several = " …" if "..." in type_text else ""
    kind, _, rule = type_text.replace("...", "").strip().partition(":")
    kind = {"INT": "integer", "UINT": "integer", "FLOAT": "number", "TEXT": "text", "": ""}.get(kind, kind)
    between = re.match(r"(?:INT|UINT|FLOAT) in \[(\S+) - (\S+)\]", rule)
    if between:
        kind = "%s, %s to %s" % (kind, *between.groups())
    elif rule.startswith("{"):
        kind = rule.strip("{}").replace(",", ", ")
    return kind + several


def row(left, right):
    """("--out TEXT REQUIRED", "folder") as a line of a table."""
    names, _, rest = left.partition(" ")
    notes = ["required"] * (" REQUIRED" in left)
    for mark, text in [("Needs:", "needs"), ("Excludes:", "not with")]:
        found = re.search(mark + r"((?: --\S+)+)", rest)
        if found:
            rest = rest.replace(found.group(0), "")
            notes.append("%s %s" % (text, ", ".join("`%s`" % flag for flag in found.group(1).split())))
    shown = ", ".join("`%s`" % name for name in names.split(","))
    return "| %s | %s | %s |\n" % (shown, cell(value_text(rest.replace("REQUIRED", ""))), cell("; ".join([right, *notes])))


def flag_table(program, name):
    sections = program.help(name or "")
    common = sections.get(COMMON, [])
    if not name:
        return "| flag | value | meaning |\n|---|---|---|\n" + "".join(row(*entry) for entry in common)
    for left, right in sum(sections.values(), []):
        if not right:
            fail("%s: %s has no meaning in the help text" % (name, left))
    rows = [row(*entry) for title in ("Positionals", "Options") for entry in sections.get(title, [])
            if not entry[0].startswith("-h,")]
    text = "| argument | value | meaning |\n|---|---|---|\n" + "".join(rows) if rows else ""
    for title, entries in sections.items():  # the fields of a configuration, which have tables of their own
        if title not in ("Positionals", "Options", "Subcommands", COMMON):
            text += "\n%s: %s\n" % (title, ", ".join("`%s`" % left.split()[0] for left, _ in entries))
    names = " ".join("`%s`" % left.split()[0] for left, _ in common)
    return text + ("\nCommon flags: %s\n" % names if names else "")


def allowed(field):
    if field["kind"] == "choice":
        return ", ".join("`%s`" % choice for choice in field["choices"])
    if field["kind"] == "boolean":
        return "`true`, `false`"
    low, high = field.get("minimum"), field.get("maximum")
    if low is None and high is None:
        return "text" if field["kind"] == "text" else "any"
    return "%s to %s" % (low, high) if high is not None else "at least %s" % low


def field_table(program, group):
    lines = ["| field | default | values | meaning |", "|---|---|---|---|"]
    for field in program.groups()[group]:
        default = field["default"] if isinstance(field["default"], str) else json.dumps(field["default"])
        lines.append("| `%s` | %s | %s | %s |" % (field["name"], "`%s`" % default if default else "", cell(allowed(field)), cell(field["help"])))
    return "\n".join(lines) + "\n"


def check_complete(kind, there, expected):
    for name in expected:
        if there.count(name) != 1:
            fail("%s: expected the %s of '%s' once, found them %d times" % (PAGE.name, kind, name, there.count(name)))
    for name in there:
        if name not in expected:
            fail("%s: the %s of '%s', which the program lacks" % (PAGE.name, kind, name))


def main():
    arguments = sys.argv[1:]
    check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + check:
        fail("usage: cli_docs.py [--check] PROGRAM")
    program = Program(arguments[-1])
    text = PAGE.read_text(encoding="utf-8")
    check_complete("flags", [name for _, name, _ in FLAGS.findall(text)], ["", *program.subcommands()])
    check_complete("fields", [name for _, name, _ in FIELDS.findall(text)], GROUPS + program.attentions())
    new = FLAGS.sub(lambda m: m.group(1) + flag_table(program, m.group(2)) + m.group(3), text)
    new = FIELDS.sub(lambda m: m.group(1) + field_table(program, m.group(2)) + m.group(3), new)
    if check and new != text:
        lines = [line for line in new.splitlines() if line not in set(text.splitlines())]
        fail("%s is not what the program says; run scripts/cli_docs.py PROGRAM (first: %s)" % (PAGE.name, (lines or ["a line too many"])[0]))
    if not check:
        PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
