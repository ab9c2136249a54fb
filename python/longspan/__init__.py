"""PyTorch operators of longspan. Importing it loads the library and registers torch.ops.longspan."""

from ._library import load
from .diffusion import diffusion, diffusion_coefficients, diffusion_extend, pattern
from .local_attention import local_attention
from .orthogonal_memory import orthogonal_memory, orthogonal_memory_extend

__all__ = ["diffusion", "diffusion_coefficients", "diffusion_extend", "local_attention", "orthogonal_memory",
           "orthogonal_memory_extend", "pattern"]

__version__ = "0.1.0"

load()
