"""Softmax attention over a sliding window of keys; docs/ops/local_attention.md."""

import torch


def local_attention(q, k, v, table=None, *, reach_left, reach_right, scale=None, cu_seqlens=None, cu_seqlens_k=None,
                    backend="auto"):
    """q [B, H, N, D], k [B, H, M, D], v [B, H, M, Dv] -> [B, H, N, Dv].

    Query i stands at key position M - N + i and reads the keys at offsets -reach_left .. reach_right from it.
    table [H or 1, 2c + 1] adds table[h, offset + c] to the scores; scale defaults to D ** -0.5. cu_seqlens [S + 1]
    packs S sequences into a batch of 1.
    """
    return torch.ops.longspan.local_attention(q, k, v, table, reach_left, reach_right, scale, cu_seqlens, cu_seqlens_k,
                                              backend=backend)
