#!/usr/bin/env python3
"""LAVO against causal softmax, as a ratio, and its growth with length.

    peers.py PROGRAM [--out FILE] [--threads 2] [--longest 1048576]

Runs `longspan bench` (8 heads of 64, r = w = 64, float32, forward + backward, both taking turns) at 1K to 16K, then LAVO alone from 16K
to --longest, and prints the speedups and the least-squares slope of log(time) against log(n). --out keeps every line of JSON.
"""

import argparse
import json
import math
import subprocess
import sys

COMMON = ["--attention", "lavo", "--pattern", "causal_self", "--pass", "forward_backward", "--batch", "1", "--heads", "8", "--head-dim", "64",
          "--dtype", "float32", "--set", "r=64", "--set", "w=64", "--json", "--quiet"]


def bench(program, threads, *arguments):
    command = [program, "bench", *COMMON, "--threads", str(threads), *arguments]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(result.returncode)
    return [json.loads(line) for line in result.stdout.splitlines()]


def slope(rows):
    """Of log(time of n tokens) against log(n): 1 = linear."""
    x = [math.log(r["n"]) for r in rows]
    y = [math.log(r["us_per_token"] * r["n"]) for r in rows]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--out")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--longest", type=int, default=1 << 20)
    options = parser.parse_args()

    ratios = bench(options.program, options.threads, "--against", "softmax", "--lengths", "1024,2048,4096,8192,16384")
    lengths = [n for n in (1 << k for k in range(14, 31)) if n <= options.longest]
    growth = bench(options.program, options.threads, "--lengths", ",".join(map(str, lengths))) if lengths else []
    for row in ratios:
        print("n %7d  %8.3f us/token  %8.3f softmax  %6.2f times as fast  %5.1f of %5.1f GFLOP/s"
              % (row["n"], row["us_per_token"], row["us_per_token_against"], row["speedup"], row["gflops"], row["matmul_gflops"]))
    for row in growth:
        print("n %7d  %8.3f us/token" % (row["n"], row["us_per_token"]))
    if len(growth) > 1:
        print("slope of log(time) against log(n), %d to %d: %.3f" % (growth[0]["n"], growth[-1]["n"], slope(growth)))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            for row in ratios + growth:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
