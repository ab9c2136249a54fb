"""Error bounds of the operators' results, from the arithmetic: the rule of longspan/testing/compare.h.

Letters are largest magnitudes, e_ their errors, to first order; tests/ops has the same derivations, in C++.
"""

import math

import torch

SECOND_ORDER = 1.1  # for the products of two error terms that are left out


def roundoff(dtype):
    return torch.finfo(dtype).eps / 2


def sum_bound(dtype, terms):
    """Of a sum of so many products in any order, relative to the sum of absolute values."""
    return (terms + 4) * roundoff(dtype)


def norm(t):
    """The largest Euclidean norm of a row."""
    return t.detach().double().norm(dim=-1).max().item() if t.numel() else 0.0


def largest(t):
    return t.detach().double().abs().max().item() if t.numel() else 0.0


def local_attention(q, k, v, table, left, right, scale=None, *_, dropout=0.0, **__):
    """Of out and lse."""
    u, width, keys = roundoff(q.dtype), q.shape[-1], k.shape[2]
    scale = width ** -0.5 if scale is None else abs(scale)
    products, entry = scale * norm(q) * norm(k), 0.0 if table is None else largest(table)
    seen = min(keys, left + right + 1)
    score = sum_bound(q.dtype, width) * products + 2 * u * (products + entry)
    # A score off by e makes a normalised probability off by 2 e; the exponential and the sum add their own.
    p = 2 * score + 4 * u + sum_bound(q.dtype, seen) + (2 * u if dropout else 0)
    out = SECOND_ORDER * (p + sum_bound(q.dtype, seen)) * norm(v) / (1 - dropout)
    return out, score + sum_bound(q.dtype, seen + 4) * (1 + products + entry + math.log(max(seen, 1)))


def _read(q, basis, scale, dropout, H, e_H):
    """Of rows read through slots of magnitude H."""
    u, b = roundoff(q.dtype), norm(basis)
    width, slots, c = sum_bound(q.dtype, q.shape[-1]), sum_bound(q.dtype, basis.shape[1]), abs(scale)
    A = b * norm(q)
    e_S = c * (e_H * A + H * width * A + 3 * u * H * A)
    e_U = (2 * e_S + 4 * u + slots) * H + e_H + u * H
    return SECOND_ORDER * b * (e_U + slots * H + u * H) / (1 - dropout)


def orthogonal_memory(q, m, basis, form, scale=1.0, *_, accumulator="float64", dropout=0.0, **__):
    """Of out. A mean of projections is no longer than the longest."""
    H = norm(basis) * norm(m)
    sums = 0 if accumulator == "float64" else 2 * m.shape[2] * roundoff(torch.float32) * H
    return (_read(q, basis, scale, dropout, H, sum_bound(q.dtype, q.shape[-1]) * H + 2 * roundoff(q.dtype) * H + sums),)


def orthogonal_memory_extend(q, m, basis, closed, open, count, scale=1.0, *_, visible=None, accumulator="float64",
                             dropout=0.0, **__):
    """Of out, closed, open, count and visible."""
    u, rows = roundoff(q.dtype), q.shape[2]
    z = norm(basis) * norm(m)
    total = 2 * (largest(closed) + largest(open)) + rows * z  # twice: sums and their corrections
    kept = torch.float64 if accumulator == "float64" else torch.float32
    e_total = rows * sum_bound(q.dtype, q.shape[-1]) * z + (2 * rows + 4) * roundoff(kept) * total
    first = count.min().item() + 1
    seen = 0.0 if visible is None else largest(visible)
    H, e_H = max(total / first, seen), e_total / first + 2 * u * max(total / first, seen)
    return _read(q, basis, scale, dropout, H, e_H), e_total, e_total, 0.0, e_H


def _diffuse(q, k, v, coefficients, past, scale, attention_dropout, hop_dropout):
    """Of out, states and lse; `past`: the largest state of the past."""
    u, keys = roundoff(q.dtype), k.shape[2]
    scale = q.shape[-1] ** -0.5 if scale is None else abs(scale)
    products = scale * norm(q) * norm(k)
    score = sum_bound(q.dtype, q.shape[-1]) * products + 2 * u * products
    weight = 2 * score + 6 * u + sum_bound(q.dtype, keys)  # of a row of A, together, relative to its sum of 1
    carry, source = ([c.abs().max().item() for c in coefficients.detach().double()[:, first::2].unbind(1)]
                     for first in (1, 2))
    kept, kept_hop = 1 / (1 - attention_dropout), 1 / (1 - hop_dropout)
    V = largest(v)
    Z = largest(coefficients[:, 0]) * V
    e, worst = u * Z, u * Z
    for c, s in zip(carry, source):
        Z = max(Z, past)
        e = kept_hop * (c * kept * (e + (weight + sum_bound(q.dtype, keys)) * Z) + 6 * u * (c * kept * Z + s * V))
        Z = kept_hop * (c * kept * Z + s * V)
        worst = max(worst, e)
    lse = score + sum_bound(q.dtype, keys + 4) * (1 + products + math.log(max(keys, 1)))
    return SECOND_ORDER * e, SECOND_ORDER * worst, lse


def diffusion(q, k, v, coefficients, patterns, pattern_of=None, scale=None, *_, attention_dropout=0.0, hop_dropout=0.0,
              **__):
    """Of out, lse, weights and states; the last two are empty."""
    out, _, lse = _diffuse(q, k, v, coefficients, 0.0, scale, attention_dropout, hop_dropout)
    return out, lse, 0.0, 0.0


def diffusion_extend(q, k, v, coefficients, states, patterns, pattern_of=None, positions=None, scale=None, *_,
                     attention_dropout=0.0, hop_dropout=0.0, **__):
    """Of out, the new states and lse."""
    return _diffuse(q, k, v, coefficients, largest(states), scale, attention_dropout, hop_dropout)


CHUNK = 16


def _remember(q, k, v, beta, state, given, delta):
    """Of out and of states, in the composed form, whose errors are the larger ones: as tests/ops/delta_case.h has it.
    `state` is the largest norm of one, `given` that of writes that came with it."""
    u, rows, slots = roundoff(q.dtype), q.shape[2], q.shape[3]
    write = largest(beta) * norm(k) * norm(v)
    state = state + rows * write + CHUNK * given
    added, none = 1 + CHUNK * largest(beta) * norm(k) ** 2, CHUNK * (write + given)
    if not delta:
        added = 1
    chunks, terms = rows // CHUNK + 2, slots + 7 * CHUNK + 8
    error = chunks * u * (terms * added * (state + none) + 8 * (slots + 4) * slots ** 0.5 * state)
    return norm(q) * (error + terms * u * (state + none)), error + terms * u * (state + none)


def delta_memory(q, k, v, beta, log_alpha=None, state=None, *_, delta=True, **__):
    """Of out, the state and segments, which neither form keeps."""
    first = 0.0 if state is None else norm(state.flatten(-2))
    return *_remember(q, k, v, beta, first, 0.0, delta), 0.0


def delta_memory_extend(q, k, v, beta, log_alpha, memory, keys, writes, *_, delta=True, **__):
    """Of out, memory, keys, writes, log_alpha_rows, position and segments: rows are handed on as they are."""
    out, state = _remember(q, k, v, beta, norm(memory.flatten(-2)), norm(keys) * norm(writes), delta)
    return out, state, 0.0, largest(beta) * norm(k) * state, 0.0, 0.0, 0.0


OF = {"delta_memory": delta_memory, "delta_memory_forward": delta_memory, "delta_memory_extend": delta_memory_extend,
      "delta_memory_extend_forward": delta_memory_extend, "diffusion": diffusion, "diffusion_forward": diffusion, "diffusion_extend": diffusion_extend,
      "local_attention": local_attention, "local_attention_forward": local_attention,
      "orthogonal_memory": orthogonal_memory, "orthogonal_memory_extend": orthogonal_memory_extend}


def of(name, case):
    """For every result of an operator's forward, the bound of one form's error."""
    kwargs = {key: value for key, value in case.kwargs.items() if key not in ("backend", "float32_out")}
    return OF[name](*case.args, **kwargs)


def assert_same(a, b, bound):
    """Two forms, each within `bound` of the exact result."""
    if a.dtype.is_floating_point:
        # What is returned in a narrower dtype than it was computed in is rounded once more.
        bound += roundoff(a.dtype) * largest(b)
    # What is infinite, the log-sum-exp of a row without keys, must be so in both.
    difference = largest(torch.where(a == b, 0, a.double() - b.double()))
    assert difference <= 2 * bound, f"differ by {difference:.3g}, bound {2 * bound:.3g}"
