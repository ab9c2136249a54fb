"""A matrix memory that decays and is written by a delta rule; docs/ops/delta_memory.md."""

import torch


def delta_memory(q, k, v, beta, log_alpha=None, state=None, *, delta=True, cu_seqlens=None, backend="auto"):
    """q, k [B, H, N, R], v [B, H, N, D], beta [B, H, N] -> out [B, H, N, D] and the state [B, H, R, D] behind it.

    With alpha = exp(log_alpha) and S the state before row t (zeros before the first, or `state`):
    S' = Diag(alpha_t) S, e_t = v_t - S'^T k_t, S_t = S' + beta_t k_t e_t^T, out_t = S_t^T q_t. delta=False: e_t = v_t.
    log_alpha: at most 0, [B, H, N] or [B, H, N, R] (a decay for each slot), or None; -inf forgets everything. beta is
    meant for (0, 2), with keys of norm 1. delta and a scalar decay: the gated delta rule; no delta and a decay for each
    slot: gated linear attention.

    k and v have the dtype of q; beta, log_alpha and state that of q or of the sums, float32 (float64 beside float64),
    which the state that comes out has. Heads are equal: expand shared ones, which makes no copy. cu_seqlens [S + 1] packs
    S sequences into a batch of 1; the state has S rows then. backend: "kernel" (CPU: float32, float64, bfloat16, R and D
    up to 256), "composed" (any device, dtype and size), "reference" (row by row in float64) or "auto", the first of them
    that takes the operands. Bad input raises ValueError.
    """
    return torch.ops.longspan.delta_memory(q, k, v, beta, log_alpha, state, cu_seqlens, delta=delta, backend=backend)


def delta_memory_extend(q, k, v, beta, log_alpha, memory, keys, writes, log_alpha_rows, position, *, delta=True,
                        cu_seqlens=None, backend="auto"):
    """The same, going on from what a stream remembers; zeros are a fresh one.

    memory [B, H, R, D]: the state at the last multiple of 16 of the position. keys [B, H, 16, R], writes [B, H, 16, D]
    and, beside log_alpha, log_alpha_rows [B, H, 16] or [B, H, 16, R]: the position % 16 rows since then; all in the
    dtype of the sums. position [B] int64: tokens consumed. With cu_seqlens S in the place of B.

    Returns out and the same five after the last row: (out, memory, keys, writes, log_alpha_rows, position);
    log_alpha_rows is empty ([0]) without log_alpha. With the kernel any cutting of a stream into calls gives the bits of
    one call. Differentiable in the state too.
    """
    return torch.ops.longspan.delta_memory_extend(q, k, v, beta, log_alpha, memory, keys, writes, log_alpha_rows, position,
                                                  cu_seqlens, delta=delta, backend=backend)
