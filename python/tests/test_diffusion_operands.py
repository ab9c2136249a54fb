"""Operands of longspan::diffusion: dtypes, autocast, layouts, threads; and what of this a compiled graph keeps."""

import pytest
import torch

import bounds
import cases
import longspan
import masks

BACKENDS = ["kernel", "composed", "reference"]


def operands(n=200, dtype=torch.float32, heads=4, key_heads=2):
    x = cases.Inputs(41, dtype)
    return x(2, heads, n, 16), x(2, key_heads, n, 16), x(2, key_heads, n, 24)


def pattern(n=200):
    return longspan.pattern("window_overlap+global+random", n, w=16, g=4, r=6)


def coefficients(dtype=torch.float32, heads=1):
    return longspan.diffusion_coefficients("ppr_iterate", 3).to(dtype).expand(heads, 7).clone()


DROPOUT = {"attention_dropout": 0.2, "hop_dropout": 0.1, "dropout_seed": torch.tensor(9)}


@pytest.mark.parametrize("given", [{}, {**DROPOUT, "edge_weights": "recomputed", "backward": "store_all"}], ids=str)
def test_thread_count_changes_no_bit(given):
    leaves = [t.requires_grad_() for t in (*operands(600), coefficients(heads=4))]
    made = pattern(600)

    def run():
        out = longspan.diffusion(*leaves, made, **given)
        return out, *torch.autograd.grad(out.square().sum(), leaves)

    cases.assert_threads_change_no_bit(run)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_16_bit(half):
    """One rounding of the result, and float32 arithmetic that is far below it."""
    q, k, v = operands(dtype=half)
    out = longspan.diffusion(q, k, v, coefficients(), pattern())
    exact = longspan.diffusion(q.double(), k.double(), v.double(), coefficients().double(), pattern())
    assert out.dtype == half
    assert (out.double() - exact).abs().max() <= exact.abs().max() * torch.finfo(half).eps
    if half is torch.float16:
        with pytest.raises(ValueError, match="^diffusion: backend: the kernel takes float32, float64 and bfloat16 on "
                                             "the CPU, got float16 on cpu$"):
            longspan.diffusion(q, k, v, coefficients(), pattern(), backend="kernel")


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_autocast(half):
    """bfloat16 stays, and takes float32 beside it along; float16 becomes float32. Coefficients are float32."""
    q, k, v = operands()
    low = [t.to(half) for t in (q, k, v)]
    kept = torch.float32 if half is torch.float16 else half
    c, made = coefficients(), pattern()
    causal = longspan.pattern("window_band", 200, k=3, causal=True)
    states = torch.zeros(2, 4, 3, 0, 24)
    with torch.autocast("cpu", dtype=half):
        narrow = longspan.diffusion(*low, c.to(half), made)
        mixed = longspan.diffusion(q, low[1], v, c, made)
        wide = longspan.diffusion(q, k, v, c, made)
        extended = longspan.diffusion_extend(*low, c, states.to(half), causal)
    assert narrow.dtype == mixed.dtype == extended[0].dtype == kept
    assert wide.dtype == extended[1].dtype == torch.float32
    cast = [t.to(kept) for t in low]
    assert torch.equal(narrow, longspan.diffusion(*cast, c.to(half).float(), made))
    assert torch.equal(mixed, longspan.diffusion(q.to(kept), low[1].to(kept), v.to(kept), c, made))
    assert torch.equal(wide, longspan.diffusion(q, k, v, c, made))
    assert torch.equal(extended[0], longspan.diffusion_extend(*cast, c, states, causal)[0])


def test_layouts():
    q, k, v = operands()
    expected = longspan.diffusion(q, k, v, coefficients(), pattern())
    swapped = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v)]
    strided = [torch.stack([t, t], -1)[..., 0] for t in (q, k, v)]
    for layout in (swapped, strided):
        assert torch.equal(longspan.diffusion(*layout, coefficients(), pattern()), expected)
    for backend in BACKENDS:  # heads can be joined without a copy
        out = longspan.diffusion(*swapped, coefficients(), pattern(), backend=backend)
        assert out.transpose(1, 2).is_contiguous()


def test_what_is_kept_changes_no_gradient():
    """Weights formed again from the log-sum-exp, as in a compiled graph, differ by roundings alone."""
    leaves = [t.requires_grad_() for t in (*operands(dtype=torch.float64), coefficients(torch.float64))]
    given = {**DROPOUT, "backward": "store_all"}

    def run(function):
        out = function(*leaves)
        return out, *torch.autograd.grad(out.square().sum(), leaves)

    def layer(q, k, v, c):
        return longspan.diffusion(q, k, v, c, made, **given)

    made = pattern()
    torch._dynamo.reset()
    for a, b in zip(run(torch.compile(layer, fullgraph=True, backend="aot_eager")), run(layer)):
        assert (a - b).abs().max() <= 1e-13 * b.abs().max()


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_form_within_its_bound_in_float32(backend):
    n = 300
    q, k, v = operands(n)
    pairs, mask = masks.mixed(n)
    out, lse, *_ = torch.ops.longspan.diffusion_forward(q, k, v, coefficients(), [pairs], backend=backend)
    exact = torch.ops.longspan.diffusion_forward(q.double(), k.double(), v.double(), coefficients().double(), [pairs],
                                                 backend="reference")
    own = bounds.diffusion(q, k, v, coefficients(), [pairs])
    assert (out - exact[0]).abs().max() <= own[0] and (lse - exact[1]).abs().max() <= own[1]
    # The rule for sums of 300 terms is far from what errors are; a wrong key would not be within it.
    assert own[0] < 1e-2


@pytest.mark.parametrize("backend", BACKENDS)
def test_tokens_of_other_rows_and_sequences_are_not_seen(backend):
    """What is not a number stays in its batch row, and in its sequence of a pack."""
    q, k, v = operands(40)
    poisoned = [t.clone() for t in (q, k, v)]
    for t in poisoned:
        t[0] = torch.nan
    c, made = coefficients(), pattern(40)
    out = longspan.diffusion(*poisoned, c, made, backend=backend)
    assert torch.equal(out[1], longspan.diffusion(q, k, v, c, made, backend=backend)[1])
    cu, halves = torch.tensor([0, 15, 40]), [pattern(15), pattern(25)]
    clean = [t[:1] for t in (q, k, v)]
    poisoned = [t.clone() for t in clean]
    for t in poisoned:
        t[:, :, 15:] = torch.inf
    of = torch.tensor([0, 1])
    a, b = (longspan.diffusion(*t, c, halves, of, cu_seqlens=cu, backend=backend) for t in (clean, poisoned))
    assert torch.equal(a[:, :, :15], b[:, :, :15])
