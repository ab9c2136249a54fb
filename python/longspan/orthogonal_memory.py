"""Reading of a running mean through orthogonal slots (CODE of LAVO); docs/ops/orthogonal_memory.md."""

import torch


def orthogonal_memory(q, m, basis, form, scale=1.0, *, cu_seqlens=None, cu_seqlens_source=None, backend="auto"):
    """q [B, H, N, D], m [B, H, M, D], basis [H or 1, R, D] -> [B, H, N, D].

    form: "causal" (position t reads the mean over sources up to t, M = N) or "full" (every query reads the mean over
    all sources).
    """
    return torch.ops.longspan.orthogonal_memory(q, m, basis, form, scale, cu_seqlens, cu_seqlens_source,
                                                backend=backend)


def orthogonal_memory_extend(q, m, basis, closed, open, count, scale=1.0, *, cu_seqlens=None, backend="auto"):
    """The causal form, going on from a state: closed and open [B, H, R] float64, count [B] int64.

    Returns the output and the state after the last row: (out, closed, open, count).
    """
    return torch.ops.longspan.orthogonal_memory_extend(q, m, basis, closed, open, count, scale, cu_seqlens,
                                                       backend=backend)
