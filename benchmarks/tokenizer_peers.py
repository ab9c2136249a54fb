#!/usr/bin/env python3
"""longspan's tokenizer beside the packages `tokenizers` and `tiktoken`, on one text, one thread, alternating.

usage: tokenizer_peers.py --bench bench_tokenizer --text FILE (--json tokenizer.json | --ranks gpt2.tiktoken) [--rounds 3]

Prints one JSON object for each. The packages encode the text in parts of about 64 KiB, cut at line ends. Run with the
interpreter that has them.
"""

import argparse
import base64
import json
import os
import statistics
import subprocess
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"


def parts_of(text, size=1 << 16):
    parts, at = [], 0
    while at < len(text):
        end = text.find("\n", at + size)
        end = len(text) if end < 0 else end + 1
        parts.append(text[at:end])
        at = end
    return parts


def peer_of(options):
    if options.json:
        import tokenizers
        tokenizer = tokenizers.Tokenizer.from_file(options.json)
        return "tokenizers", lambda part: tokenizer.encode(part, add_special_tokens=False).ids
    import tiktoken
    from tiktoken_ext import openai_public
    with open(options.ranks) as file:
        ranks = {base64.b64decode(line.split()[0]): int(line.split()[1]) for line in file if line.strip()}
    encoding = tiktoken.Encoding("local", pat_str=openai_public.r50k_pat_str, mergeable_ranks=ranks, special_tokens={})
    return "tiktoken", encoding.encode_ordinary


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--json")
    parser.add_argument("--ranks")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with open(options.text, encoding="utf-8", newline="") as file:
        text = file.read()
    parts, size = parts_of(text), len(text.encode())
    name, encode = peer_of(options)
    own, others = [], []
    for _ in range(options.rounds):
        output = subprocess.run([options.bench, options.json or options.ranks, options.text, "3"], capture_output=True, text=True, check=True)
        own.append(next(line for line in map(json.loads, output.stdout.splitlines()) if line["pass"] == "warm" and line["threads"] == 1))
        begin = time.perf_counter()
        tokens = sum(len(encode(part)) for part in parts)
        others.append((time.perf_counter() - begin, tokens))
    rate = statistics.median(line["mb_per_second"] for line in own)
    other = size / statistics.median(seconds for seconds, _ in others) / 1e6
    print(json.dumps({"peer": name, "bytes": size, "tokens": own[0]["tokens"], "peer_tokens": others[0][1], "mb_per_second": rate,
                      "peer_mb_per_second": round(other, 2), "speedup": round(rate / other, 2)}))


if __name__ == "__main__":
    main()
