"""Sample inputs of every operator, shared by the tests: one list a name, so that an operator without cases shows."""

import dataclasses
import typing

import torch


@dataclasses.dataclass
class Case:
    name: str
    args: tuple
    kwargs: dict = dataclasses.field(default_factory=dict)

    def tensors(self):
        """The differentiable inputs."""
        return [a for a in (*self.args, *self.kwargs.values()) if torch.is_tensor(a) and a.is_floating_point()]

    def with_grad(self):
        def leaf(a):
            return a.detach().clone().requires_grad_() if torch.is_tensor(a) and a.is_floating_point() else a
        return Case(self.name, tuple(leaf(a) for a in self.args), {k: leaf(a) for k, a in self.kwargs.items()})


class Inputs:
    """Random tensors from one seed."""

    def __init__(self, seed, dtype=torch.float64):
        self.generator = torch.Generator().manual_seed(seed)
        self.dtype = dtype

    def __call__(self, *sizes, dtype=None):
        return torch.randn(*sizes, generator=self.generator, dtype=dtype or self.dtype)

    def heads_last(self, b, h, n, d):
        """[B, H, N, D] laid out as the split of a projection into heads leaves it."""
        return self(b, n, h, d).transpose(1, 2)

    def strided_rows(self, b, h, n, d):
        """[B, H, N, D] in the order B, N, D, H of memory: no dimension of rows or heads is dense."""
        return self(b, n, d, h).permute(0, 3, 1, 2)

    def basis(self, h, r, d):
        return torch.linalg.qr(self(h, d, r))[0].transpose(1, 2).contiguous()


def local_attention(dtype=torch.float64) -> typing.List[Case]:
    x = Inputs(1, dtype)
    cu = torch.tensor([0, 3, 3, 7])
    return [
        Case("causal", (x(2, 3, 7, 4), x(2, 3, 7, 4), x(2, 3, 7, 5), x(3, 7), 3, 0)),
        Case("two-sided", (x(2, 2, 6, 4), x(2, 2, 6, 4), x(2, 2, 6, 4), x(1, 9), 2, 3, 0.7)),
        Case("no table", (x(1, 2, 9, 3), x(1, 2, 9, 3), x(1, 2, 9, 3), None, 2, 0)),
        Case("last queries", (x(2, 2, 3, 4), x(2, 2, 8, 4), x(2, 2, 8, 2), x(2, 9), 4, 1)),
        Case("heads last", (x.heads_last(2, 3, 7, 4), x.heads_last(2, 3, 7, 4), x.heads_last(2, 3, 7, 4), None, 3, 0)),
        Case("strided rows", (x.strided_rows(2, 4, 7, 16), x.strided_rows(2, 4, 7, 16), x.strided_rows(2, 4, 7, 16),
                              None, 3, 0)),
        Case("packed", (x(1, 2, 7, 4), x(1, 2, 7, 4), x(1, 2, 7, 4), x(2, 5), 2, 0, None, cu)),
        Case("packed keys", (x(1, 2, 7, 4), x(1, 2, 9, 4), x(1, 2, 9, 3), x(2, 5), 2, 1, None, cu.int(),
                             torch.tensor([0, 4, 5, 9]))),
        Case("one row", (x(1, 1, 1, 1), x(1, 1, 1, 1), x(1, 1, 1, 1), x(1, 1), 0, 0)),
    ]


def local_attention_backward(dtype=torch.float64) -> typing.List[Case]:
    cases = []
    for case in local_attention(dtype):
        q, k, v, table, left, right, *rest = case.args
        out, lse = torch.ops.longspan.local_attention_forward(*case.args)
        cases.append(Case(case.name, (torch.ones_like(out), q, k, v, table, out, lse, left, right, *rest)))
    return cases


def orthogonal_memory(dtype=torch.float64) -> typing.List[Case]:
    x = Inputs(2, dtype)
    cu = torch.tensor([0, 2, 2, 7])
    return [
        Case("causal", (x(2, 3, 7, 4), x(2, 3, 7, 4), x.basis(3, 2, 4), "causal")),
        Case("scale", (x(2, 2, 6, 4), x(2, 2, 6, 4), x.basis(2, 4, 4), "causal", 0.5)),
        Case("full", (x(2, 2, 6, 4), x(2, 2, 6, 4), x.basis(1, 3, 4), "full")),
        Case("cross", (x(2, 2, 3, 4), x(2, 2, 8, 4), x.basis(2, 3, 4), "full", 2.0)),
        Case("heads last", (x.heads_last(2, 3, 7, 4), x.heads_last(2, 3, 7, 4), x.basis(3, 2, 4), "causal")),
        Case("strided rows", (x.strided_rows(2, 4, 7, 16), x.strided_rows(2, 4, 7, 16), x.basis(4, 2, 16), "causal")),
        Case("packed", (x(1, 2, 7, 4), x(1, 2, 7, 4), x.basis(2, 3, 4), "causal", 1.0, cu)),
        Case("packed sources", (x(1, 2, 7, 4), x(1, 2, 5, 4), x.basis(1, 3, 4), "full", 1.0, cu.int(),
                                torch.tensor([0, 1, 4, 5]))),
        Case("one row", (x(1, 1, 1, 1), x(1, 1, 1, 1), x.basis(1, 1, 1), "causal")),
    ]


def orthogonal_memory_backward(dtype=torch.float64) -> typing.List[Case]:
    return [Case(case.name, (torch.ones_like(case.args[0]), *case.args)) for case in orthogonal_memory(dtype)]


def orthogonal_memory_extend(dtype=torch.float64) -> typing.List[Case]:
    x = Inputs(3, dtype)

    def sums(b, h, r):
        return x(b, h, r, dtype=torch.float64)

    return [
        Case("within a chunk", (x(2, 3, 5, 4), x(2, 3, 5, 4), x.basis(3, 2, 4), sums(2, 3, 2), sums(2, 3, 2),
                                torch.tensor([0, 17]))),
        Case("over a border", (x(2, 2, 6, 4), x(2, 2, 6, 4), x.basis(1, 4, 4), sums(2, 2, 4), sums(2, 2, 4),
                               torch.tensor([253, 511]), 0.5)),
        Case("to a border", (x(1, 2, 3, 4), x(1, 2, 3, 4), x.basis(2, 2, 4), sums(1, 2, 2), sums(1, 2, 2),
                             torch.tensor([253]))),
        Case("packed", (x(1, 2, 7, 4), x(1, 2, 7, 4), x.basis(2, 3, 4), sums(3, 2, 3), sums(3, 2, 3),
                        torch.tensor([3, 256, 254]), 1.0, torch.tensor([0, 2, 2, 7]))),
        Case("strided rows", (x.strided_rows(2, 4, 7, 16), x.strided_rows(2, 4, 7, 16), x.basis(4, 2, 16),
                              sums(2, 4, 2), sums(2, 4, 2), torch.tensor([0, 252]))),
        Case("no rows", (x(2, 1, 0, 3), x(2, 1, 0, 3), x.basis(1, 2, 3), sums(2, 1, 2), sums(2, 1, 2),
                         torch.tensor([5, 256]))),
    ]


def orthogonal_memory_extend_backward(dtype=torch.float64) -> typing.List[Case]:
    cases = []
    for case in orthogonal_memory_extend(dtype):
        q, closed = case.args[0], case.args[3]
        ones = (torch.ones_like(q), torch.ones_like(closed), torch.ones_like(closed), None)
        cases.append(Case(case.name, (*ones, *case.args)))
    some = cases[0].args
    cases.append(Case("only out", (some[0], None, None, None, *some[4:])))
    cases.append(Case("only sums", (None, *some[1:])))
    return cases


OPERATORS = {
    "local_attention": local_attention,
    "local_attention_forward": local_attention,
    "local_attention_backward": local_attention_backward,
    "orthogonal_memory": orthogonal_memory,
    "orthogonal_memory_backward": orthogonal_memory_backward,
    "orthogonal_memory_extend": orthogonal_memory_extend,
    "orthogonal_memory_extend_backward": orthogonal_memory_extend_backward,
}


def every(names=OPERATORS, dtype=torch.float64):
    """(operator, case) of the named operators, for pytest.mark.parametrize."""
    return [(name, case) for name in names for case in OPERATORS[name](dtype)]


def label(value):
    return value.name if isinstance(value, Case) else str(value)


def operator(name):
    return getattr(torch.ops.longspan, name).default
