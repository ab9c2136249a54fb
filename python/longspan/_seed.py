"""The seed of dropout as the operators take it."""

import torch


def seed_tensor(seed):
    """An int becomes the int64 tensor without dimensions that the operators take; tensors and None stay."""
    if isinstance(seed, bool) or not (seed is None or torch.is_tensor(seed) or isinstance(seed, int)):
        raise ValueError(f"dropout_seed: expected an int or an int64 tensor without dimensions, got {seed!r}")
    if not isinstance(seed, int):
        return seed
    if not -2 ** 63 <= seed < 2 ** 63:
        raise ValueError(f"dropout_seed: expected a number of 64 bits, got {seed}")
    return torch.tensor(seed, dtype=torch.int64)
