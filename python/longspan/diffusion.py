"""Diffusion of values over a sparse attention, and the patterns of that attention; docs/ops/diffusion.md."""

import torch

from ._seed import seed_tensor


def pattern(name, n, seed=0, *, layer=0, edges=None, global_tokens=None, **options):
    """The pairs of a sparse attention over n tokens, as one int32 tensor [L] on the CPU.

    name: generators with "+" in between, or a preset; options are theirs: pattern("window_overlap+global+random", 4096,
    w=64, g=32, r=32, causal=True). docs/patterns.md has them all. edges: int64 [2, E], queries above keys, for the
    generator "edges". global_tokens: int64 [G] or a list, instead of those that the generator would choose. The result
    is a pure function of the arguments; make it once and use it in every layer. Bad input raises ValueError.
    """
    def text(value):
        return str(value).lower() if isinstance(value, bool) else str(value)

    if isinstance(global_tokens, str):  # the field of that name, for global_choice="list"
        options["global_tokens"], global_tokens = global_tokens, None
    elif global_tokens is not None:
        global_tokens = torch.as_tensor(global_tokens)
        if not global_tokens.is_floating_point() or global_tokens.numel() == 0:  # the operator refuses fractions
            global_tokens = global_tokens.to(torch.int64)
    return torch.ops.longspan.pattern(name, n, seed, [f"{key}={text(value)}" for key, value in options.items()],
                                      layer=layer, edges=edges, global_tokens=global_tokens)


def diffusion_coefficients(kind, hops=5, *, alpha=None, t=None, logits=None):
    """The coefficients of a kind of diffusion, [1 or H, 2 hops + 1] float64 (float32 operands take them .float()).

    kind: "ppr_iterate", "ppr_truncated" (alpha: a scalar tensor or [H], 0.1 unless given), "heat" (t: the same, 3),
    "single" (one hop: plain sparse attention), "learned" (logits [1 or H, hops + 1]). Differentiable.
    """
    def tensor(value):
        return value if value is None or torch.is_tensor(value) else torch.tensor(float(value), dtype=torch.float64)

    return torch.ops.longspan.diffusion_coefficients(kind, hops, tensor(alpha), tensor(t), logits)


def _listed(patterns):
    return [patterns] if torch.is_tensor(patterns) else list(patterns)


def diffusion(q, k, v, coefficients, patterns, pattern_of=None, *, scale=None, cu_seqlens=None, valid=None,
              padding="remove", attention_dropout=0.0, dropout_mode="once", hop_dropout=0.0, dropout_seed=None,
              dropout_origin=None, backward="recompute_slices", edge_weights="stored", backend="auto"):
    """q [B, H, N, D], k [B, Hk, N, D], v [B, Hk, N, Dv], coefficients [H or 1, 2 K + 1] -> [B, H, N, Dv].

    With A the softmax of scale <q_i, k_j> over the keys j that the pattern gives query i, and coefficients (start,
    carry_0, source_0, carry_1, ...): Z_0 = start V, Z_{k+1} = carry_k A Z_k + source_k V, and Z_K is the result.
    patterns: a tensor made by pattern(), or several and pattern_of, int64 [S]: the number of each batch row's (or
    packed sequence's) pattern. Hk divides H: query head h reads key head h // (H // Hk). scale defaults to D ** -0.5.

    cu_seqlens [S + 1] packs S sequences into a batch of 1. valid [B, N] bool: the tokens that are there; a pair with
    another end leaves the pattern (padding "remove") or has the score -10000 ("reference").
    attention_dropout acts on A, with one mask for all hops (dropout_mode "once") or one for each ("per_hop"),
    hop_dropout on the state after each hop; both need dropout_seed, an int or an int64 tensor without dimensions.
    dropout_origin: as for local_attention. backward: where the backward pass has the states of the hops from
    ("recompute_slices", "store_all", "recompute_quadratic"); edge_weights "stored" or "recomputed". backend: "kernel"
    (CPU: float32, float64, bfloat16), "composed" (any device and dtype, linear memory), "reference" (quadratic) or
    "auto", the first of them that takes the operands. Bad input raises ValueError.
    """
    return torch.ops.longspan.diffusion(
        q, k, v, coefficients, _listed(patterns), pattern_of, scale, cu_seqlens, valid, padding=padding,
        attention_dropout=attention_dropout, dropout_mode=dropout_mode, hop_dropout=hop_dropout,
        dropout_seed=seed_tensor(dropout_seed), dropout_origin=dropout_origin, backward=backward, edge_weights=edge_weights,
        backend=backend)


def diffusion_extend(q, k, v, coefficients, states, patterns, pattern_of=None, positions=None, *, scale=None,
                     attention_dropout=0.0, dropout_mode="once", hop_dropout=0.0, dropout_seed=None,
                     dropout_origin=None, backward="recompute_slices", edge_weights="stored", backend="auto"):
    """A piece of a causal stream: the first P of M tokens are past.

    k [B, Hk, M, D] has the keys of all, states [B, H, K, P, Dv] the Z_0 .. Z_{K-1} of the past ones; q and v have the
    M - P new ones. Each pattern is that of M tokens; positions [M] int64 are their places in the stream, for dropout,
    where not all were kept. Returns out [B, H, M - P, Dv] and the states of the new tokens [B, H, K, M - P, Dv].
    """
    return torch.ops.longspan.diffusion_extend(
        q, k, v, coefficients, states, _listed(patterns), pattern_of, positions, scale,
        attention_dropout=attention_dropout, dropout_mode=dropout_mode, hop_dropout=hop_dropout,
        dropout_seed=seed_tensor(dropout_seed), dropout_origin=dropout_origin, backward=backward, edge_weights=edge_weights,
        backend=backend)[:2]
