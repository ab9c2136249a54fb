"""Reading of a running mean through orthogonal slots (CODE of LAVO); docs/ops/orthogonal_memory.md."""

import torch


def orthogonal_memory(q, m, basis, form, scale=1.0, *, cu_seqlens=None, cu_seqlens_source=None, window=0,
                      accumulator="float64", dropout=0.0, dropout_seed=None, backend="auto"):
    """q [B, H, N, D], m [B, Hm, M, D] (Hm divides H), basis [H or 1, R, D] -> [B, H, N, D].

    form: "causal" (position t reads the mean over sources up to t, M = N) or "full" (every query reads the mean over
    all sources). window = w > 0, causal: the mean over the complete windows of w before the position's own.
    accumulator: "float64", "float32_compensated" or "float32". dropout of the reading weights of the slots: its seed is
    an int64 tensor without dimensions.
    """
    return torch.ops.longspan.orthogonal_memory(q, m, basis, form, scale, cu_seqlens, cu_seqlens_source, window=window,
                                                accumulator=accumulator, dropout=dropout, dropout_seed=dropout_seed,
                                                backend=backend)


def orthogonal_memory_extend(q, m, basis, closed, open, count, scale=1.0, *, cu_seqlens=None, visible=None, window=0,
                             accumulator="float64", dropout=0.0, dropout_seed=None, backend="auto"):
    """The causal form, going on from a state, all zeros before the first row: closed and open [B, H, R] float64 ([B, H,
    R] float32 for the accumulator float32, [B, H, 2 R] float32 for float32_compensated), count [B] int64 and, with a
    window, visible [B, H, R] float64.

    Returns the output and the state after the last row: (out, closed, open, count, visible), visible empty without a
    window.
    """
    return torch.ops.longspan.orthogonal_memory_extend(q, m, basis, closed, open, count, scale, cu_seqlens,
                                                       visible=visible, window=window, accumulator=accumulator,
                                                       dropout=dropout, dropout_seed=dropout_seed, backend=backend)
