"""The composed forms: a fixed number of calls, no value read on the host, sequences that do not see each other."""

import collections

import pytest
import torch

import bounds
import cases
import longspan

ops = torch.ops.longspan
FORWARD = [name for name in cases.OPERATORS if not name.endswith("_backward")]


@pytest.mark.parametrize("name, case", cases.every(FORWARD), ids=cases.label)
def test_equals_the_reference(name, case):
    case = case.with_grad()
    forms = [case.having(backend=backend) for backend in ("composed", "reference")]
    composed, reference = (cases.run(name, form) for form in forms)
    for a, b, bound in zip(composed, reference, bounds.of(name, case)):
        assert a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride()
        bounds.assert_same(a, b, bound)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["delta_memory", "diffusion", "local_attention", "orthogonal_memory"])
def test_16_bit_operands(name, half):
    """One rounding of the result, and float32 arithmetic that is far below it."""
    for case in cases.OPERATORS[name](half):
        out, *_ = cases.run(name, case.having(backend="composed"))
        wide = [a.double() if torch.is_tensor(a) and a.is_floating_point() else a for a in case.args]
        exact, *_ = cases.run(name, cases.Case(case.name, tuple(wide), case.kwargs).having(backend="composed"))
        assert out.dtype == (torch.float32 if case.kwargs.get("float32_out") else half)
        if out.numel() == 0:
            continue
        assert (out.double() - exact).abs().max() <= exact.abs().max() * torch.finfo(half).eps


@pytest.mark.parametrize("name, case", cases.every(FORWARD), ids=cases.label)
def test_reads_no_value_on_the_host(name, case):
    """On the meta device there is none to read."""
    def without_values(a):
        return a.to("meta") if torch.is_tensor(a) else a

    results = cases.run(name, case.having(backend="composed"))
    case = cases.Case(case.name, tuple(map(without_values, case.args)),
                      {key: without_values(a) for key, a in case.kwargs.items()})
    # Operands that need gradients, so that the calls of the form itself run, and not a rule about its results.
    shapes = cases.run(name, case.with_grad().having(backend="composed"))
    for result, shape in zip(results, shapes):
        assert shape.is_meta and shape.shape == result.shape and shape.dtype == result.dtype
        assert shape.stride() == result.stride()


def calls(function, *inputs):
    """How often each ATen operator is called in function and in its backward pass, but by other such operators."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        results = function(*inputs)
        torch.autograd.grad(sum(r.sum() for r in results if r.requires_grad), inputs, allow_unused=True)
    return collections.Counter(event.name for event in profile.events() if event.name.startswith("aten::")
                               and not (event.cpu_parent and event.cpu_parent.name.startswith("aten::")))


SEED = torch.tensor(3)


def diffuse(q, k, pattern, **given):
    coefficients = torch.full((1, 5), 0.5)
    return [ops.diffusion(q, k[:, :1], k[:, :1], coefficients, [pattern], **given, backend="composed")]


@pytest.mark.parametrize("name, options", [("table_s1", {"w": 16, "g": 8, "r": 8}),
                                           ("window_overlap+global+random", {"w": 16, "g": 4, "r": 8}),
                                           ("longformer", {"w": 32, "g": 2}), ("bigbird", {"b": 16}),
                                           ("fixed", {"l": 64, "c": 1}), ("uniform", {"uniform_r": 5})])
def test_number_of_calls_of_diffusion_is_fixed(name, options):
    given = {"attention_dropout": 0.1, "hop_dropout": 0.1, "dropout_seed": SEED}
    counts = []
    for n in (1024, 4096):
        pattern = longspan.pattern(name, n, **options)
        counts.append(calls(lambda q, k: diffuse(q, k, pattern, **given), *long_inputs(n)[:2]))
    assert counts[0] == counts[1] and counts[0].total() > 10


@pytest.mark.parametrize("hops", [2, 6])
def test_memory_of_diffusion_is_linear(hops):
    """Largest bytes that stand at a time, forward and backward: twice as much for twice the length, and far below what
    all pairs of the rest times the width would take."""
    def peak(n):
        pattern = longspan.pattern("window_overlap+global+random", n, w=16, g=4, r=32)
        x = cases.Inputs(11, torch.float32)
        q, k, v = (x(1, 1, n, 64).requires_grad_() for _ in range(3))
        coefficients = torch.full((1, 2 * hops + 1), 0.5)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            ops.diffusion(q, k, v, coefficients, [pattern], backend="composed").sum().backward()
        held = most = 0
        for event in sorted((e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"),
                            key=lambda e: e.start_ns()):
            held += event.nbytes()
            most = max(most, held)
        return most

    short, long = peak(512), peak(2048)
    assert 3.5 <= long / short <= 4.5
    assert long < 2048 * 32 * 64 * 4 * (1 if hops == 2 else 2)


def delta_operands(q, k, slots=True):
    """q, k, v, beta and log_alpha for rows of any numbers."""
    def unit(x):
        return x / (1 + x.norm(dim=-1, keepdim=True))

    decay = -torch.nn.functional.softplus(k)
    return unit(q), unit(k), q, k[..., 0].sigmoid(), decay if slots else decay[..., 0]


def delta_stream(streams, h, d, slots):
    """A state from within a chunk."""
    x = cases.DeltaInputs(13, torch.float32)
    return x.stream(streams, h, d, d, [77] * streams, "slot" if slots else "scalar")


def delta_extend(q, k, cu, slots, **given):
    stream = delta_stream(q.shape[0] if cu is None else len(cu) - 1, q.shape[1], q.shape[3], slots)
    return ops.delta_memory_extend(*delta_operands(q, k, slots), *stream, cu, **given, backend="composed")


LONG = {
    "delta memory": lambda q, k, basis, cu: ops.delta_memory(
        *delta_operands(q, k, slots=False), None, cu, backend="composed"),
    "delta memory, slots": lambda q, k, basis, cu: ops.delta_memory(
        *delta_operands(q, k), None, cu, backend="composed"),
    "gated linear attention": lambda q, k, basis, cu: ops.delta_memory(
        *delta_operands(q, k), None, cu, delta=False, backend="composed"),
    "delta memory, extend": lambda q, k, basis, cu: delta_extend(q, k, cu, True),
    "linear attention, extend": lambda q, k, basis, cu: delta_extend(q, k, cu, False, delta=False),
    "local_attention": lambda q, k, basis, cu: [ops.local_attention(
        q, k[:, :1], k[:, :1], None, 15, 15, None, cu, dropout=0.1, dropout_seed=SEED, backend="composed")],
    "causal": lambda q, k, basis, cu: [ops.orthogonal_memory(
        q, k, basis, "causal", 1.0, cu, dropout=0.1, dropout_seed=SEED, backend="composed")],
    "window": lambda q, k, basis, cu: [ops.orthogonal_memory(
        q, k, basis, "causal", 1.0, cu, window=16, backend="composed")],
    "full": lambda q, k, basis, cu: [ops.orthogonal_memory(q, k, basis, "full", 1.0, cu, backend="composed")],
    "extend": lambda q, k, basis, cu: ops.orthogonal_memory_extend(
        q, k, basis, *2 * [torch.zeros(1 if cu is None else len(cu) - 1, 2, 3, dtype=torch.float64)],
        torch.full([1 if cu is None else len(cu) - 1], 77), 1.0, cu, backend="composed"),
}


def long_inputs(n):
    x = cases.Inputs(11, torch.float32)
    return [t.requires_grad_() for t in (x(1, 2, n, 4), x(1, 2, n, 4), x.basis(2, 3, 4))]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", LONG)
def test_number_of_calls_is_fixed(name, packed):
    counts = []
    for n in (4096, 65536):
        cu = torch.tensor([0, n // 3, n // 3, n - 1, n]) if packed else None
        counts.append(calls(lambda q, k, basis: LONG[name](q, k, basis, cu), *long_inputs(n)))
    assert counts[0] == counts[1] and counts[0].total() > 10


@pytest.mark.parametrize("name", LONG)
def test_sequences_do_not_see_each_other(name):
    """What stands in another sequence, NaN and infinity too, has no influence, neither forward nor backward."""
    n, cu = 700, torch.tensor([0, 11, 11, 400, 403, 700])

    def run(poison):
        q, k, basis = (t.detach().clone() for t in long_inputs(n))
        weight = torch.ones(n)
        for rows, value in ((slice(0, 11), torch.nan), (slice(400, 403), torch.inf), (slice(403, 700), 1e38)):
            if poison:
                q[:, :, rows] = k[:, :, rows] = weight[rows] = value
        leaves = q.requires_grad_(), k.requires_grad_(), basis
        out = LONG[name](*leaves, cu)[0]
        gradients = torch.autograd.grad(out, leaves[:2], weight[:, None] * torch.ones_like(out))
        return [t[:, :, 11:400] for t in (out, *gradients)]

    for clean, poisoned in zip(run(False), run(True)):
        assert torch.equal(clean, poisoned)


@pytest.mark.parametrize("shape", [(0, 2, 5, 4), (2, 0, 5, 4), (2, 2, 0, 4)], ids=str)
@pytest.mark.parametrize("name", LONG)
def test_empty(name, shape):
    x = torch.randn(shape, requires_grad=True)
    basis = torch.eye(4)[None, :3].requires_grad_()
    if name == "local_attention":
        results = [ops.local_attention(x, x, x, None, 3, 2, backend="composed")]
    elif name == "extend":
        sums = torch.zeros(shape[0], shape[1], 3, dtype=torch.float64)
        results = ops.orthogonal_memory_extend(x, x, basis, sums, sums, torch.zeros(shape[0], dtype=torch.int64),
                                               backend="composed")
    else:
        results = LONG[name](x, x, basis, None)
    assert results[0].shape == shape
    results[0].sum().backward()
    assert x.grad.shape == shape


def test_no_sequences():
    x, cu = torch.randn(1, 2, 0, 4), torch.tensor([0])
    basis = torch.eye(4)[None, :3]
    for name, function in LONG.items():
        assert function(x, x, basis, cu)[0].shape == x.shape, name


@pytest.mark.parametrize("reach", [31, 32, 33, 100, 2 ** 40])
@pytest.mark.parametrize("n, m", [(1, 1), (1, 300), (97, 300), (300, 300), (32, 64), (5, 9)])
def test_blocks_of_keys(reach, n, m):
    """Lengths and reaches around the borders of blocks, the last queries of a longer past."""
    x = cases.Inputs(12)
    q, k, v, table = x(1, 2, n, 4), x(1, 2, m, 4), x(1, 2, m, 3), x(2, 201) if reach <= 100 else None
    for left, right in ((reach, 0), (reach, reach // 2)):
        composed, reference = (ops.local_attention(q, k, v, table, left, right, dropout=0.2, dropout_seed=SEED,
                                                   backend=backend) for backend in ("composed", "reference"))
        bounds.assert_same(composed, reference, bounds.local_attention(q, k, v, table, left, right, dropout=0.2)[0])
