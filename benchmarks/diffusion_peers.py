#!/usr/bin/env python3
"""Diffusion against what one would use otherwise, as ratios, both taking turns.

    diffusion_peers.py [--out FILE] [--threads 2] [--lengths 4096,8192,16384] [--runs 3] [--pattern-length 65536]

Forward + backward, 8 heads of 64, float32, one sequence; the median of --runs after a warm-up:

- `table_s1` with five hops against full softmax (torch's scaled_dot_product_attention);
- `single` over the Longformer pattern (W = 512, one global token) against LongformerSelfAttention of `transformers`, both
  with the projections of q, k and v (left out where transformers is not installed);
- one head of `table_s1` against the graph-library way in ATen: gather, segment softmax, scatter, on a list of pairs (at
  4,096 only: it needs a tensor of pairs x width).

Then two figures that have no peer:

- building `table_s1` at --pattern-length (65,536) against one forward pass over it;
- peak memory that forward + backward of `table_s1` take at 4,096 beyond the operands, in a process of its own, against
  4 H E (weights) + 24 n H D (out, dq, dk, dv; two states) + 4 K n D for each thread (the states of a head) bytes, E the pairs.

Needs the package longspan on the path (PYTHONPATH=python) and torch; --out keeps every line of JSON.
"""

import argparse
import json
import multiprocessing
import statistics
import time

import torch

import longspan

HEADS, WIDTH, HOPS, WINDOW = 8, 64, 5, 512


def seconds(step):
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def compare(ours, theirs, runs):
    """Median seconds of both, in turns."""
    ours(), theirs()
    times = [(seconds(ours), seconds(theirs)) for _ in range(runs)]
    return [statistics.median(column) for column in zip(*times)]


def operands(n, heads=HEADS):
    return [torch.randn(1, heads, n, WIDTH).requires_grad_() for _ in range(3)]


def step_of(function, tensors):
    def step():
        torch.autograd.grad(function(*tensors).sum(), tensors)
    return step


def diffusion(pattern, coefficients):
    return lambda q, k, v: longspan.diffusion(q, k, v, coefficients, pattern)


def pairs_of(pattern, n):
    """Queries and keys, read off one hop of an identity in slices."""
    single = longspan.diffusion_coefficients("single").float()
    zeros, found = torch.zeros(1, 1, n, 1), []
    for begin in range(0, n, 512):
        size = min(512, n - begin)
        v = torch.zeros(1, 1, n, size)
        v[0, 0, begin:begin + size] = torch.eye(size)
        found.append(longspan.diffusion(zeros, zeros, v, single, pattern)[0, 0] > 0)
    return torch.cat(found, 1).nonzero(as_tuple=True)


def scattered(queries, keys, n, alpha=0.1):
    """The recursion on a list of pairs."""
    def run(q, k, v):
        scores = (q[0, 0, queries] * k[0, 0, keys]).sum(-1) * WIDTH ** -0.5
        largest = torch.full((n,), -torch.inf).scatter_reduce(0, queries, scores.detach(), "amax")
        numerators = torch.exp(scores - largest[queries])
        weights = numerators / torch.zeros(n).index_add(0, queries, numerators)[queries]
        z = v[0, 0]
        for _ in range(HOPS):
            z = (1 - alpha) * torch.zeros_like(z).index_add(0, queries, weights[:, None] * z[keys]) + alpha * v[0, 0]
        return z
    return run


def longformer(n):
    """(step of transformers' module, step of ours), each with its projections; None without transformers."""
    try:
        from transformers import LongformerConfig
        from transformers.models.longformer.modeling_longformer import LongformerSelfAttention
    except ImportError:
        return None
    config = LongformerConfig(hidden_size=HEADS * WIDTH, num_attention_heads=HEADS, attention_window=[WINDOW],
                              attention_probs_dropout_prob=0.0)
    module = LongformerSelfAttention(config, layer_id=0)
    x = torch.randn(1, n, HEADS * WIDTH, requires_grad=True)
    mask = torch.zeros(1, n)
    mask[0, 0] = 10000.0  # a global token; its own projections are the module's
    is_global = mask > 0

    def theirs(x):
        return module(x, attention_mask=mask, is_index_masked=mask < 0, is_index_global_attn=is_global,
                      is_global_attn=True)[0]

    pattern = longspan.pattern("longformer", n, w=WINDOW, g=1)
    single = longspan.diffusion_coefficients("single").float()

    def ours(x):
        q, k, v = (layer(x).view(1, n, HEADS, WIDTH).transpose(1, 2) for layer in
                   (module.query, module.key, module.value))
        return longspan.diffusion(q, k, v, single, pattern).transpose(1, 2).reshape(1, n, -1)

    weights = [w for layer in (module.query, module.key, module.value) for w in layer.parameters()]

    def step(function):
        return lambda: torch.autograd.grad(function(x).sum(), [x, *weights], allow_unused=True)

    return step(theirs), step(ours)


def pattern_seconds(n, runs):
    """Median seconds of building table_s1 and of one forward pass over it."""
    ppr, pattern = longspan.diffusion_coefficients("ppr_iterate", HOPS).float(), longspan.pattern("table_s1", n)
    with torch.no_grad():
        tensors = operands(n)
        return compare(lambda: longspan.pattern("table_s1", n), lambda: diffusion(pattern, ppr)(*tensors), runs)


def status(field):
    """Bytes of a field of /proc/self/status."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


def measure_memory(n, threads, results):
    """Puts [bytes at the peak of a step beyond those before it, bytes by the formula] into `results`."""
    torch.set_num_threads(threads)
    ppr, pattern = longspan.diffusion_coefficients("ppr_iterate", HOPS).float(), longspan.pattern("table_s1", n)
    pairs, tensors = len(pairs_of(pattern, n)[0]), operands(n)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # resets the peak
    before = status("VmRSS")
    step_of(diffusion(pattern, ppr), tensors)()
    results.put([status("VmHWM") - before,
                 4 * HEADS * pairs + 24 * n * HEADS * WIDTH + 4 * HOPS * n * WIDTH * threads])


def peak_memory(n, threads):
    context = multiprocessing.get_context("spawn")  # a fresh heap
    results = context.Queue()
    process = context.Process(target=measure_memory, args=(n, threads, results))
    process.start()
    measured = results.get()
    process.join()
    return measured


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lengths", default="4096,8192,16384")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pattern-length", type=int, default=65536)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    rows = []

    def report(peer, n, heads, ours, theirs):
        mine, other = compare(ours, theirs, options.runs)
        rows.append({"peer": peer, "n": n, "heads": heads, "us_per_token": 1e6 * mine / n,
                     "us_per_token_against": 1e6 * other / n, "speedup": other / mine})
        print("n %6d  %-18s %9.2f us/token  %9.2f us/token here  %6.2f times as fast"
              % (n, peer, rows[-1]["us_per_token_against"], rows[-1]["us_per_token"], rows[-1]["speedup"]), flush=True)

    ppr = longspan.diffusion_coefficients("ppr_iterate", HOPS).float()
    for n in map(int, options.lengths.split(",")):
        pattern, tensors = longspan.pattern("table_s1", n), operands(n)
        report("softmax", n, HEADS, step_of(diffusion(pattern, ppr), tensors),
               step_of(torch.nn.functional.scaled_dot_product_attention, tensors))
        if steps := longformer(n):
            report("longformer", n, HEADS, steps[1], steps[0])
        if n == 4096:
            one = operands(n, heads=1)
            report("gather and scatter", n, 1, step_of(diffusion(pattern, ppr), one),
                   step_of(scattered(*pairs_of(pattern, n), n), one))
    building, forward = pattern_seconds(options.pattern_length, options.runs)
    rows.append({"figure": "pattern", "n": options.pattern_length, "seconds": building, "forward_seconds": forward})
    print("n %6d  pattern built in %.2f s, one forward pass %.2f s" % (options.pattern_length, building, forward))
    peak, formula = peak_memory(4096, options.threads)
    rows.append({"figure": "memory", "n": 4096, "bytes": peak, "bytes_by_formula": formula})
    print("n   4096  peak memory of a step %.1f MB, by the formula %.1f MB" % (peak / 1e6, formula / 1e6))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
