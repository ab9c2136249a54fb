"""Sample inputs of every operator, shared by the tests: one list a name, so that an operator without cases shows."""

import dataclasses
import typing

import longspan
import torch


@dataclasses.dataclass
class Case:
    name: str
    args: tuple
    kwargs: dict = dataclasses.field(default_factory=dict)
    exact: bool = True  # float64 through and through, so that central differences can judge it

    def tensors(self):
        """The differentiable inputs."""
        return [a for a in (*self.args, *self.kwargs.values()) if torch.is_tensor(a) and a.is_floating_point()]

    def with_grad(self):
        def leaf(a):
            return a.detach().clone().requires_grad_() if torch.is_tensor(a) and a.is_floating_point() else a
        return dataclasses.replace(self, args=tuple(leaf(a) for a in self.args),
                                   kwargs={k: leaf(a) for k, a in self.kwargs.items()})

    def having(self, **kwargs):
        return dataclasses.replace(self, kwargs={**self.kwargs, **kwargs})


def dropout(probability, seed):
    return {"dropout": probability, "dropout_seed": torch.tensor(seed)}


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
        return torch.linalg.qr(self(h, d, r).double())[0].transpose(1, 2).contiguous().to(self.dtype)


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
        Case("grouped heads", (x(2, 4, 7, 4), x(2, 2, 7, 4), x(2, 2, 7, 3), x(4, 7), 3, 2)),
        Case("one key head", (x(1, 3, 5, 4), x(1, 1, 8, 4), x(1, 1, 8, 4), x(1, 7), 3, 0), {"float32_out": True}),
        Case("dropout", (x(2, 3, 7, 4), x(2, 3, 7, 4), x(2, 3, 7, 5), x(3, 7), 3, 1), dropout(0.3, 77)),
        Case("packed dropout", (x(1, 4, 7, 4), x(1, 2, 9, 4), x(1, 2, 9, 3), x(1, 5), 2, 1, None, cu.int(),
                                torch.tensor([0, 4, 5, 9])), dropout(0.5, -(2 ** 40) - 9)),
        Case("blocks", (x(1, 1, 70, 2), x(1, 1, 75, 2), x(1, 1, 75, 2), x(1, 11), 5, 2), dropout(0.1, 5)),
        Case("dropout of streams", (x(2, 2, 3, 4), x(2, 2, 8, 4), x(2, 2, 8, 2), x(2, 9), 4, 1),
             {**dropout(0.4, 9), "dropout_origin": torch.tensor([[5, 1022], [0, 2 ** 34 + 3]])}),
        Case("dropout of packed streams", (x(1, 2, 7, 4), x(1, 2, 9, 4), x(1, 2, 9, 3), x(2, 5), 2, 1, None, cu,
                                           torch.tensor([0, 4, 5, 9])),
             {**dropout(0.4, 9), "dropout_origin": torch.tensor([[1, 0], [1, 7], [4, 21]])}),
    ]


def local_attention_backward(dtype=torch.float64) -> typing.List[Case]:
    cases = []
    for case in local_attention(dtype):
        q, k, v, table, left, right, *rest = case.args
        out, lse = torch.ops.longspan.local_attention_forward(*case.args, **case.kwargs)
        kwargs = {name: value for name, value in case.kwargs.items() if name.startswith("dropout")}
        cases.append(Case(case.name, (torch.ones_like(out), q, k, v, table, out, lse, left, right, *rest), kwargs))
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
        Case("window", (x(2, 2, 7, 4), x(2, 2, 7, 4), x.basis(2, 3, 4), "causal"), {"window": 3}),
        Case("packed window", (x(1, 2, 7, 4), x(1, 2, 7, 4), x.basis(1, 3, 4), "causal", 1.5, cu), {"window": 2}),
        Case("grouped heads", (x(2, 4, 6, 4), x(2, 2, 6, 4), x.basis(4, 3, 4), "causal")),
        Case("one feature head", (x(2, 3, 4, 4), x(2, 1, 6, 4), x.basis(1, 3, 4), "full")),
        Case("dropout", (x(2, 2, 6, 6), x(2, 2, 6, 6), x.basis(2, 5, 6), "causal"), dropout(0.4, 12)),
        Case("packed dropout", (x(1, 2, 7, 6), x(1, 2, 7, 6), x.basis(2, 5, 6), "full", 1.0, cu),
             dropout(0.4, 2 ** 50)),
        Case("compensated", (x(1, 2, 6, 4), x(1, 2, 6, 4), x.basis(2, 3, 4), "causal"),
             {"accumulator": "float32_compensated"}, exact=False),
        Case("float32 sums", (x(1, 2, 6, 4), x(1, 2, 6, 4), x.basis(2, 3, 4), "full"), {"accumulator": "float32"},
             exact=False),
    ]


def orthogonal_memory_backward(dtype=torch.float64) -> typing.List[Case]:
    cases = []
    for case in orthogonal_memory(dtype):
        kwargs = {name: value for name, value in case.kwargs.items() if name != "accumulator"}
        cases.append(Case(case.name, (torch.ones_like(case.args[0]), *case.args), kwargs))
    return cases


def orthogonal_memory_extend(dtype=torch.float64) -> typing.List[Case]:
    x = Inputs(3, dtype)

    def sums(b, h, r, dtype=torch.float64):
        return x(b, h, r, dtype=dtype)

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
        Case("window", (x(2, 2, 7, 4), x(2, 2, 7, 4), x.basis(2, 3, 4), sums(2, 2, 3), sums(2, 2, 3),
                        torch.tensor([253, 4])), {"visible": sums(2, 2, 3), "window": 3}),
        Case("packed window", (x(1, 2, 7, 4), x(1, 2, 7, 4), x.basis(2, 3, 4), sums(3, 2, 3), sums(3, 2, 3),
                               torch.tensor([3, 256, 254]), 1.0, torch.tensor([0, 2, 2, 7])),
             {"visible": sums(3, 2, 3), "window": 4}),
        Case("within a window", (x(2, 2, 2, 4), x(2, 2, 2, 4), x.basis(2, 3, 4), sums(2, 2, 3), sums(2, 2, 3),
                                 torch.tensor([17, 40])), {"visible": sums(2, 2, 3), "window": 16}),
        Case("grouped heads", (x(2, 4, 5, 4), x(2, 2, 5, 4), x.basis(1, 3, 4), sums(2, 4, 3), sums(2, 4, 3),
                               torch.tensor([255, 1]))),
        Case("dropout", (x(2, 2, 5, 6), x(2, 2, 5, 6), x.basis(2, 5, 6), sums(2, 2, 5), sums(2, 2, 5),
                         torch.tensor([7, 300])), dropout(0.4, 3)),
        Case("compensated", (x(1, 2, 5, 4), x(1, 2, 5, 4), x.basis(2, 3, 4), sums(1, 2, 6, torch.float32),
                             sums(1, 2, 6, torch.float32), torch.tensor([254])),
             {"accumulator": "float32_compensated"}, exact=False),
        Case("float32 sums", (x(1, 2, 5, 4), x(1, 2, 5, 4), x.basis(2, 3, 4), sums(1, 2, 3, torch.float32),
                              sums(1, 2, 3, torch.float32), torch.tensor([254])), {"accumulator": "float32"},
             exact=False),
    ]


def orthogonal_memory_extend_backward(dtype=torch.float64) -> typing.List[Case]:
    cases = []
    for case in orthogonal_memory_extend(dtype):
        q, closed, visible = case.args[0], case.args[3], case.kwargs.get("visible")
        ones = (torch.ones_like(q), torch.ones_like(closed), torch.ones_like(closed),
                None if visible is None else torch.ones_like(visible))
        cases.append(Case(case.name, (*ones, *case.args), case.kwargs))
    some = cases[0].args
    cases.append(Case("only out", (some[0], None, None, None, *some[4:])))
    cases.append(Case("only sums", (None, some[1], some[2], None, *some[4:])))
    return cases


def diffusion_dropout(attention, hop, seed, mode="once"):
    return {"attention_dropout": attention, "hop_dropout": hop, "dropout_seed": torch.tensor(seed),
            "dropout_mode": mode}


def wide(dtype):
    """The dtype of coefficients and states."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def diffusion(dtype=torch.float64) -> typing.List[Case]:
    x = Inputs(4, dtype)

    def coefficients(h, hops):
        return x(h, 2 * hops + 1, dtype=wide(dtype)) / 2

    def pattern(n, name="window_band+global+random", **given):
        return longspan.pattern(name, n, **(given or {"k": 1, "g": 1, "r": 2}))

    blocks = {"name": "bigbird+random", "b": 2, "bigbird_r": 1, "r": 1}
    cu = torch.tensor([0, 3, 3, 10])
    packed = [pattern(3), pattern(0), pattern(7)]
    valid = torch.tensor([[1, 1, 1, 0, 1, 1, 0], [1, 1, 1, 1, 1, 1, 1]], dtype=torch.bool)
    return [
        Case("of all pieces", (x(2, 3, 9, 4), x(2, 3, 9, 4), x(2, 3, 9, 5), coefficients(1, 3), [pattern(9)])),
        Case("blocks", (x(1, 2, 13, 4), x(1, 2, 13, 4), x(1, 2, 13, 3), coefficients(2, 2), [pattern(13, **blocks)],
                        None, 0.7)),
        Case("causal", (x(1, 2, 9, 4), x(1, 2, 9, 4), x(1, 2, 9, 3), coefficients(2, 2),
                        [pattern(9, k=2, r=1, g=2, global_choice="first", causal=True)]),
             {"backward": "store_all"}),
        Case("heads last", (x.heads_last(2, 3, 7, 4), x.heads_last(2, 3, 7, 4), x.heads_last(2, 3, 7, 4),
                            coefficients(1, 2), [pattern(7)]), {"backward": "recompute_quadratic"}),
        Case("strided rows", (x.strided_rows(1, 2, 5, 16), x.strided_rows(1, 2, 5, 16), x.strided_rows(1, 2, 5, 16),
                              coefficients(1, 2), [pattern(5)]), {"edge_weights": "recomputed"}),
        Case("grouped heads", (x(2, 4, 7, 4), x(2, 2, 7, 4), x(2, 2, 7, 3), coefficients(4, 2), [pattern(7)])),
        Case("patterns by row", (x(3, 2, 7, 4), x(3, 1, 7, 4), x(3, 1, 7, 3), coefficients(1, 2),
                                 [pattern(7), pattern(7, "strided", l=3)], torch.tensor([1, 0, 1]))),
        Case("packed", (x(1, 2, 10, 4), x(1, 2, 10, 4), x(1, 2, 10, 3), coefficients(2, 2), packed,
                        torch.tensor([0, 1, 2]), None, cu), {"backward": "store_all"}),
        Case("valid", (x(2, 2, 7, 4), x(2, 2, 7, 4), x(2, 2, 7, 3), coefficients(1, 2), [pattern(7)], None, None, None,
                       valid)),
        Case("reference padding", (x(2, 2, 7, 4), x(2, 2, 7, 4), x(2, 2, 7, 3), coefficients(1, 2), [pattern(7)], None,
                                   None, None, valid), {"padding": "reference"}),
        Case("one row", (x(1, 1, 1, 1), x(1, 1, 1, 1), x(1, 1, 1, 1), coefficients(1, 1), [pattern(1)])),
        Case("no hops", (x(1, 2, 5, 4), x(1, 2, 5, 4), x(1, 2, 5, 3), coefficients(2, 0), [pattern(5)])),
        Case("dropout", (x(2, 2, 9, 4), x(2, 2, 9, 4), x(2, 2, 9, 5), coefficients(1, 2), [pattern(9)]),
             diffusion_dropout(0.3, 0.2, 77)),
        Case("dropout per hop", (x(1, 2, 13, 4), x(1, 1, 13, 4), x(1, 1, 13, 3), coefficients(1, 2),
                                 [pattern(13, **blocks)]),
             {**diffusion_dropout(0.3, 0.1, -(2 ** 40) - 9, "per_hop"), "edge_weights": "recomputed",
              "backward": "recompute_quadratic"}),
        Case("packed dropout", (x(1, 2, 10, 4), x(1, 2, 10, 4), x(1, 2, 10, 3), coefficients(1, 2), packed,
                                torch.tensor([0, 1, 2]), None, cu.int()),
             {**diffusion_dropout(0.4, 0.0, 9), "dropout_origin": torch.tensor([[1, 0], [1, 7], [4, 2 ** 34 + 1]])}),
    ]


def diffusion_backward(dtype=torch.float64) -> typing.List[Case]:
    cases = []
    for case in diffusion(dtype):
        q, k, v, coefficients, patterns, *rest = case.args
        out, _, weights, states = torch.ops.longspan.diffusion_forward(*case.args, **case.kwargs, kept_weights=-1 if case.kwargs.get("edge_weights") != "recomputed" else 0,
            keep_states=case.kwargs.get("backward") == "store_all")
        of, rest = (rest[0], rest[1:]) if rest else (None, [])
        kept = [t if t.numel() else None for t in (weights, states)]
        cases.append(Case(case.name, (torch.ones_like(out), q, k, v, coefficients, patterns, of, *kept, *rest),
                          case.kwargs))
    some = cases[0].args
    cases.append(Case("nothing kept", (*some[:7], None, None, *some[9:])))
    return cases


def diffusion_extend(dtype=torch.float64) -> typing.List[Case]:
    x = Inputs(5, dtype)

    def case(name, b, h, hk, past, n, hops, heads=1, positions=None, **given):
        m = past + n
        pattern = longspan.pattern("window_overlap+global+random", m, w=4, g=1, r=2, causal=True, max_len=32)
        return Case(name, (x(b, h, n, 4), x(b, hk, m, 4), x(b, hk, n, 3), x(heads, 2 * hops + 1, dtype=wide(dtype)) / 2,
                           x(b, h, hops, past, 3, dtype=wide(dtype)), [pattern], None, positions), given)

    return [
        case("beginning", 2, 2, 2, 0, 7, 2),
        case("going on", 2, 2, 1, 9, 5, 3, heads=2),
        case("one token", 1, 2, 2, 8, 1, 2, backward="store_all"),
        case("no tokens", 1, 2, 2, 8, 0, 2),
        case("no hops", 1, 2, 2, 5, 3, 0),
        case("dropout", 2, 2, 2, 7, 4, 2, **diffusion_dropout(0.3, 0.2, 5, "per_hop"),
             dropout_origin=torch.tensor([[1, 40], [0, 2 ** 33]])),
        case("positions", 1, 2, 2, 4, 3, 2, positions=torch.tensor([0, 5, 6, 20, 21, 22, 23]),
             **diffusion_dropout(0.3, 0.2, 5), backward="recompute_quadratic", edge_weights="recomputed"),
    ]


def diffusion_extend_backward(dtype=torch.float64) -> typing.List[Case]:
    cases = []
    for case in diffusion_extend(dtype):
        *operands, patterns, of, positions = case.args
        out, added, _ = torch.ops.longspan.diffusion_extend(*case.args, **case.kwargs)
        cases.append(Case(case.name, (torch.ones_like(out), torch.ones_like(added), *operands, patterns, of, positions,
                                      added), case.kwargs))
    some = cases[1].args
    cases.append(Case("only out", (some[0], None, *some[2:])))
    cases.append(Case("only states", (None, some[1], *some[2:])))
    return cases


def diffusion_coefficients(dtype=torch.float64) -> typing.List[Case]:
    alpha = torch.tensor([0.2, 0.6], dtype=dtype)
    return [
        Case("ppr_iterate", ("ppr_iterate", 3, alpha)),
        Case("ppr_truncated", ("ppr_truncated", 2, alpha[0])),
        Case("heat", ("heat", 3, None, 1 + alpha)),
        Case("single", ("single", 4)),
        Case("learned", ("learned", 2, None, None, Inputs(6, dtype)(2, 3))),
    ]


class DeltaInputs(Inputs):
    """Operands of delta_memory: queries and keys of norm 1, beta in (0, 2), decays of all strengths."""

    def unit(self, *sizes):
        x = self(*sizes, dtype=torch.float64)
        return (x / x.norm(dim=-1, keepdim=True)).to(self.dtype)

    def uniform(self, *sizes):
        return torch.rand(*sizes, generator=self.generator, dtype=torch.float64).to(wide(self.dtype))

    def log_alpha(self, *sizes):
        return torch.where(self.uniform(*sizes) < 0.1, -6.9, -0.5 * self.uniform(*sizes))

    def operands(self, b, h, n, r, d, decay=None):
        """q, k, v, beta and log_alpha, of which `decay` is "scalar", "slot" or None."""
        sizes = {"scalar": (b, h, n), "slot": (b, h, n, r)}
        return (self.unit(b, h, n, r), self.unit(b, h, n, r), self(b, h, n, d), 0.05 + 1.9 * self.uniform(b, h, n),
                self.log_alpha(*sizes[decay]) if decay else None)

    def stream(self, b, h, r, d, position, decay=None):
        """memory, keys, writes, log_alpha_rows and position."""
        sums, sizes = wide(self.dtype), {"scalar": (b, h, 16), "slot": (b, h, 16, r)}
        return (self(b, h, r, d, dtype=sums), self.unit(b, h, 16, r).to(sums), self(b, h, 16, d, dtype=sums),
                self.log_alpha(*sizes[decay]) if decay else None, torch.tensor(position, dtype=torch.int64))


def delta_memory(dtype=torch.float64) -> typing.List[Case]:
    x = DeltaInputs(6, dtype)
    cu = torch.tensor([0, 3, 3, 21])

    def laid_out(layout, b, h, n, r, d):
        q, k, v, beta, log_alpha = x.operands(b, h, n, r, d, "slot")
        return [layout(t) for t in (q, k, v)] + [beta.transpose(1, 2).contiguous().transpose(1, 2), layout(log_alpha)]

    def heads_last(t):
        return t.transpose(1, 2).contiguous().transpose(1, 2)

    def strided_rows(t):
        return t.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)

    return [
        Case("scalar decay", (*x.operands(2, 3, 7, 4, 3, "scalar"),)),
        Case("slot decay", (*x.operands(2, 2, 6, 3, 5, "slot"), x(2, 2, 3, 5, dtype=wide(dtype)))),
        Case("no decay", (*x.operands(1, 2, 9, 3, 3), x(1, 2, 3, 3, dtype=dtype))),
        Case("no decay, no state", x.operands(1, 2, 5, 3, 2)[:4]),
        Case("linear attention", (*x.operands(1, 2, 9, 3, 2),), {"delta": False}),
        Case("gated linear attention", (*x.operands(1, 2, 9, 3, 2, "slot"), x(1, 2, 3, 2, dtype=wide(dtype))),
             {"delta": False}),
        Case("scalar decay, no delta", (*x.operands(1, 2, 9, 3, 2, "scalar"),), {"delta": False}),
        Case("chunks", (*x.operands(1, 1, 35, 2, 2, "scalar"), x(1, 1, 2, 2, dtype=wide(dtype)))),
        Case("heads last", (*laid_out(heads_last, 2, 3, 5, 4, 4),)),
        Case("strided rows", (*laid_out(strided_rows, 1, 2, 5, 3, 3),)),
        Case("packed", (*x.operands(1, 2, 21, 3, 2, "slot"), x(3, 2, 3, 2, dtype=wide(dtype)), cu)),
        Case("packed, no state", (*x.operands(1, 2, 21, 2, 3, "scalar"), None, cu.int()), {"delta": False}),
        Case("one row", (*x.operands(1, 1, 1, 1, 1, "slot"),)),
        Case("no rows", (*x.operands(2, 1, 0, 2, 3, "scalar"), x(2, 1, 2, 3, dtype=wide(dtype)))),
    ]


def delta_memory_backward(dtype=torch.float64) -> typing.List[Case]:
    cases = []
    for case in delta_memory(dtype):
        out, state, segments = torch.ops.longspan.delta_memory_forward(*case.args, **case.kwargs, keep_segments=True)
        cases.append(Case(case.name, (torch.ones_like(out), torch.ones_like(state), *case.args),
                          {**case.kwargs, "segments": segments}))
    some = cases[1].args
    cases.append(Case("only out, nothing kept", (some[0], None, *some[2:])))
    cases.append(Case("only the state", (None, some[1], *some[2:])))
    return cases


def delta_memory_extend(dtype=torch.float64) -> typing.List[Case]:
    x = DeltaInputs(7, dtype)

    def case(name, b, h, n, r, d, position, decay=None, cu=None, **given):
        return Case(name, (*x.operands(b, h, n, r, d, decay), *x.stream(len(position), h, r, d, position, decay), cu),
                    given)

    return [
        case("within a chunk", 2, 2, 4, 3, 2, [0, 21], "scalar"),
        case("over a border", 2, 1, 6, 3, 2, [13, 31], "slot"),
        case("to a border", 1, 2, 3, 2, 3, [13]),
        case("no delta", 1, 2, 5, 2, 3, [30], "slot", delta=False),
        case("packed", 1, 2, 21, 3, 2, [3, 16, 30], "scalar", torch.tensor([0, 2, 2, 21])),
        case("no rows", 2, 1, 0, 3, 2, [5, 32], "slot"),
    ]


def delta_memory_extend_backward(dtype=torch.float64) -> typing.List[Case]:
    cases = []
    for case in delta_memory_extend(dtype):
        out, memory, keys, writes, rows, _, segments = torch.ops.longspan.delta_memory_extend_forward(
            *case.args, **case.kwargs, keep_segments=True)
        ones = [torch.ones_like(t) for t in (out, memory, keys, writes)]
        cases.append(Case(case.name, (*ones, torch.ones_like(rows) if rows.dim() > 1 else None, *case.args),
                          {**case.kwargs, "segments": segments}))
    some = cases[0].args
    cases.append(Case("only out, nothing kept", (some[0], None, None, None, None, *some[5:])))
    cases.append(Case("only rows of the state", (None, None, some[2], None, some[4], *some[5:])))
    return cases


OPERATORS = {
    "delta_memory": delta_memory,
    "delta_memory_forward": delta_memory,
    "delta_memory_backward": delta_memory_backward,
    "delta_memory_extend": delta_memory_extend,
    "delta_memory_extend_forward": delta_memory_extend,
    "delta_memory_extend_backward": delta_memory_extend_backward,
    "diffusion": diffusion,
    "diffusion_forward": diffusion,
    "diffusion_backward": diffusion_backward,
    "diffusion_extend": diffusion_extend,
    "diffusion_extend_backward": diffusion_extend_backward,
    "local_attention": local_attention,
    "local_attention_forward": local_attention,
    "local_attention_backward": local_attention_backward,
    "orthogonal_memory": orthogonal_memory,
    "orthogonal_memory_backward": orthogonal_memory_backward,
    "orthogonal_memory_extend": orthogonal_memory_extend,
    "orthogonal_memory_extend_backward": orthogonal_memory_extend_backward,
}
# Those without backends: `pattern` makes a tensor whose size is a matter of values, and cannot be traced.
PLAIN = {"diffusion_coefficients": diffusion_coefficients}
UNTRACED = {"pattern"}


def every(names=OPERATORS, dtype=torch.float64):
    """(operator, case) of the named operators, for pytest.mark.parametrize."""
    return [(name, case) for name in names for case in OPERATORS[name](dtype)]


def label(value):
    return value.name if isinstance(value, Case) else str(value)


def run(name, case):
    """The results as a tuple."""
    results = operator(name)(*case.args, **case.kwargs)
    return (results,) if torch.is_tensor(results) else results


def operator(name):
    return getattr(torch.ops.longspan, name).default


def assert_threads_change_no_bit(run):
    """run() gives tensors: the same ones on one thread, on two, and on two once more."""
    before = torch.get_num_threads()

    def on(threads):
        torch.set_num_threads(threads)
        return run()

    try:
        one, two, again = on(1), on(2), on(2)
    finally:
        torch.set_num_threads(before)
    for a, b, c in zip(one, two, again, strict=True):
        assert torch.equal(a, b) and torch.equal(b, c)
