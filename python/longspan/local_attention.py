"""Softmax attention over a sliding window of keys; docs/ops/local_attention.md."""

import torch

from ._seed import seed_tensor


def local_attention(q, k, v, table=None, *, reach_left, reach_right, scale=None, cu_seqlens=None, cu_seqlens_k=None,
                    dropout=0.0, dropout_seed=None, dropout_origin=None, float32_out=False, backend="auto"):
    """q [B, H, N, D], k [B, Hk, M, D], v [B, Hk, M, Dv] -> [B, H, N, Dv].

    Query i stands at key position M - N + i and reads the keys at offsets -reach_left .. reach_right from it. Hk
    divides H: query head h reads key head h // (H // Hk). table [H or 1, 2c + 1] adds table[h, offset + c] to the
    scores; scale defaults to D ** -0.5. cu_seqlens [S + 1], int32 or int64, packs S sequences into a batch of 1,
    cu_seqlens_k cuts the keys where they differ.

    dropout: probability with which a softmax weight becomes zero (the others are divided by 1 - dropout); needs
    dropout_seed, an int or an int64 tensor without dimensions: the mask is a pure function of the seed and of positions.
    dropout_origin [S, 2] int64: the row and the position of the first key that dropout counts each batch row or packed
    sequence from (default: its number and 0), so that the masks of a stream need not depend on how it is cut.
    float32_out: the result of 16-bit operands is float32. backend: "kernel" (CPU: float32, float64, bfloat16),
    "composed" (any device and dtype, linear memory), "reference" (quadratic) or "auto", the first of them that takes
    the operands; "composed" and "reference" are differentiable any number of times. Bad input raises ValueError.
    """
    return torch.ops.longspan.local_attention(q, k, v, table, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k,
                                              dropout=dropout, dropout_seed=seed_tensor(dropout_seed),
                                              dropout_origin=dropout_origin, float32_out=float32_out, backend=backend)
