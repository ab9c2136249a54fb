"""PyTorch operators of longspan. Importing it loads the library and registers torch.ops.longspan."""

from ._library import load
from .local_attention import local_attention
from .orthogonal_memory import orthogonal_memory, orthogonal_memory_extend

__all__ = ["local_attention", "orthogonal_memory", "orthogonal_memory_extend"]

load()
