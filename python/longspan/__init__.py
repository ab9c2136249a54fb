"""PyTorch operators of longspan. Importing it loads the library and registers torch.ops.longspan."""

from ._library import load
from .delta_memory import delta_memory, delta_memory_extend
from .diffusion import diffusion, diffusion_coefficients, diffusion_extend, pattern
from .local_attention import local_attention
from .orthogonal_memory import orthogonal_memory, orthogonal_memory_extend

__all__ = ["delta_memory", "delta_memory_extend", "diffusion", "diffusion_coefficients", "diffusion_extend",
           "local_attention", "orthogonal_memory", "orthogonal_memory_extend", "pattern"]

__version__ = "0.1.0"

load()
