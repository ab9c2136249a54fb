"""Reading of a running mean through orthogonal slots (CODE of LAVO); docs/ops/orthogonal_memory.md."""

import torch

from ._seed import seed_tensor


def orthogonal_memory(q, m, basis, form, scale=1.0, *, cu_seqlens=None, cu_seqlens_source=None, window=0,
                      accumulator="float64", dropout=0.0, dropout_seed=None, backend="auto"):
    """q [B, H, N, D], m [B, Hm, M, D], basis [H or 1, R, D] -> [B, H, N, D].

    form: "causal" (position t reads the mean over sources up to t, M = N) or "full" (every query reads the mean over
    all sources). Hm divides H: query head h reads the features of head h // (H // Hm). cu_seqlens [S + 1] packs S
    sequences into a batch of 1, cu_seqlens_source cuts m where it differs.

    window: in the causal form, position t reads the mean over j < t // window * window, the complete windows before its
    own; 0: over j <= t. accumulator: type of the running sums, "float64", "float32_compensated" or "float32".
    dropout: probability with which a slot's reading weight becomes zero; dropout_seed, backend and errors as for
    local_attention.
    """
    return torch.ops.longspan.orthogonal_memory(q, m, basis, form, scale, cu_seqlens, cu_seqlens_source, window=window,
                                                accumulator=accumulator, dropout=dropout, dropout_seed=seed_tensor(dropout_seed),
                                                backend=backend)


def orthogonal_memory_extend(q, m, basis, closed, open, count, scale=1.0, *, cu_seqlens=None, visible=None, window=0,
                             accumulator="float64", dropout=0.0, dropout_seed=None, backend="auto"):
    """The causal form, going on from a state; zeros are a fresh one.

    closed and open: [B, H, R] float64 (float32 for the accumulator float32; [B, H, 2 R] float32, sums and their
    corrections, for float32_compensated). count: [B] int64, the positions consumed. visible: [B, H, R] float64, the
    memory that the window under way reads, with a window only. Returns the output and the state after the last row:
    (out, closed, open, count, visible); visible is empty without a window.
    """
    return torch.ops.longspan.orthogonal_memory_extend(q, m, basis, closed, open, count, scale, cu_seqlens,
                                                       visible=visible, window=window, accumulator=accumulator,
                                                       dropout=dropout, dropout_seed=seed_tensor(dropout_seed), backend=backend)
