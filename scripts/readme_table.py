#!/usr/bin/env python3
"""Writes the measured table of README.md from the numbers of a demo run.

    readme_table.py [--check] [METRICS]

METRICS is the metrics.json of `make demo` (default: the kept run docs/measured/demo.json). The lines between the markers
`<!-- measured -->` and `<!-- /measured -->` are replaced; with --check they are compared: exit status 1 where they differ.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- measured -->\n).*?(<!-- /measured -->)", re.S)


def amount(number, step, units):
    """`number` with the largest fitting unit: 65536 -> 64K."""
    for unit in units:
        if abs(number) < step:
            break
        number /= step
    else:
        unit = units[-1]
    return ("%.0f" if number == int(number) or number >= 100 else "%.1f") % number + unit


def length_label(length):
    return amount(int(length), 1024, ["", "K", "M"])


def cell(table, name, key, form):
    value = table.get(name, {}).get(key)
    return "–" if value is None else form(value)


def quality(metrics, name, length):
    """Bits per byte, with the number of target blocks where it is not the most that any cell has."""
    blocks = metrics["blocks"]
    value = cell(metrics["bits_per_byte"], name, length, lambda x: "%.3f" % x)
    count, most = blocks.get(name, {}).get(length), max(n for row in blocks.values() for n in row.values())
    return value if count in (None, most) else "%s (%d blocks of %d)" % (value, count, most)


def unexplained(bits, length, effect, seeds):
    """What is not known about a lead of LAVO that the memory's effect is too small to explain."""
    if length not in bits.get("lavo", {}) or length not in bits.get("local", {}):
        return ""
    lead = bits["local"][length] - bits["lavo"][length]
    if lead <= 0 or abs(effect) > lead / 4:
        return ""
    drawn = "one seed" if len(seeds) == 1 else "%d seeds" % len(seeds)
    return (" So its lead of %.3f over `local` there does not come from reading the memory. Where it comes from is not known: these are "
            "models of %s, and what the memory did to training, the halved window branch and chance are not separated. On these texts the "
            "memory has yet to prove itself ([docs/lavo.md](docs/lavo.md))." % (lead, drawn))


def table_of(metrics):
    """Markdown lines: one row an attention, quality with short and long context, speed and state at the longest length."""
    bits, speed, state = metrics["bits_per_byte"], metrics["speedup_forward_backward"], metrics["state_bytes"]
    lengths = sorted({length for row in bits.values() for length in row}, key=int)
    short, long = lengths[0], lengths[-1]
    timed = max((length for row in speed.values() for length in row), key=int)
    contexts = [short] if short == long else [short, long]
    header = ["attention", *("bits per byte, %s context" % length_label(length) for length in contexts),
              "forward + backward at n = %s, against softmax" % length_label(timed),
              "state after %s tokens" % length_label(long)]
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    for name in bits:
        fast = "1" if name == "softmax" else cell(speed, name, timed, lambda x: "%.1f times as fast" % x)
        lines.append("| " + " | ".join([
            name, *(quality(metrics, name, length) for length in contexts), fast,
            cell(state, name, long, lambda x: amount(x, 1024, [" B", " KiB", " MiB"]))]) + " |")
    held_out, machine = metrics["held_out"], metrics["machine"]
    packers = ", ".join("`%s` %.2f" % item for item in metrics.get("compressors", {}).items())
    lines += ["", "Held out: %s (%s bytes%s). Trained at 1,024 tokens; %d threads, %s, this machine's matrix product: %.0f GFLOP/s."
              % (held_out["name"], format(held_out["bytes"], ","), "; " + packers if packers else "", machine["threads"],
                 machine["simd"], machine["matmul_gflops"])]
    zeroed = metrics.get("memory_effect", {}).get("zero", {})
    if zeroed:
        length = max(zeroed, key=int)
        text = "Setting the memory of that LAVO model to zero changes its bits per byte at %s by %+.4f." % (length_label(length), zeroed[length])
        lines.append(text + unexplained(bits, length, zeroed[length], metrics["training"]["lavo"]["seeds"]))
    return lines


def main():
    arguments = sys.argv[1:]
    check = arguments[:1] == ["--check"]
    arguments = arguments[check:]
    source = pathlib.Path(arguments[0]) if arguments else ROOT / "docs/measured/demo.json"
    try:
        metrics = json.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        sys.exit("readme_table.py: %s: %s" % (source, error))
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    block = "\n".join(table_of(metrics)) + "\n"
    new, count = BLOCK.subn(lambda match: match.group(1) + block + match.group(2), text)
    if count != 1:
        sys.exit("readme_table.py: README.md: expected one pair of markers, found %d" % count)
    if check:
        if new != text:
            sys.exit("readme_table.py: README.md: the measured table is not that of %s; run scripts/readme_table.py" % source)
        return
    readme.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
