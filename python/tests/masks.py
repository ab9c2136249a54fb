"""Patterns beside the pairs that they must have, written down once more as a mask [n, n]."""

import torch

import longspan


def window(n, k):
    i = torch.arange(n)
    return (i[:, None] - i[None, :]).abs() <= k


def mask(n, k, tokens=(), edges=None, causal=False):
    pairs = window(n, k)
    for token in tokens:
        pairs[token] = pairs[:, token] = True
    if edges is not None:
        pairs[edges[0], edges[1]] = True
    return pairs.tril() if causal else pairs


def pattern(n, k, tokens=(), edges=None, causal=False):
    """A band of k keys on either side, global tokens, single pairs: (pattern, mask)."""
    name = "window_band" + ("+global" if tokens else "") + ("" if edges is None else "+edges")
    chosen = {"global_choice": "list", "global_tokens": ",".join(map(str, tokens))} if tokens else {}
    made = longspan.pattern(name, n, k=k, causal=causal, edges=edges, **chosen)
    return made, mask(n, k, tokens, edges, causal)


def random_edges(n, count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(n, (2, count), generator=generator)


def mixed(n, seed=0, causal=False):
    """Something of everything that is worked by itself, but for blocks."""
    return pattern(n, 2, (1, n // 2), random_edges(n, 2 * n, seed), causal)


def of_edges(pairs):
    """The pattern that has just the pairs of a mask."""
    queries, keys = pairs.nonzero(as_tuple=True)
    return longspan.pattern("edges", len(pairs), edges=torch.stack([queries, keys]), self_loops=False)
