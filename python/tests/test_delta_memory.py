"""delta_memory: everything that is neither a derivative nor a matter of all operators alike."""

import pytest
import torch

import cases
import longspan

ops = torch.ops.longspan


def inputs(n=64, b=2, h=3, r=8, d=6, decay="scalar", dtype=torch.float32):
    return cases.DeltaInputs(8, dtype).operands(b, h, n, r, d, decay)


def test_thread_count_changes_no_bit():
    operands = [t.requires_grad_() for t in inputs(n=2000)]

    def run():
        out, state = ops.delta_memory(*operands)
        return out, state, *torch.autograd.grad((out * out).sum() + state.sum(), operands)

    cases.assert_threads_change_no_bit(run)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_autocast(half):
    """bfloat16 stays, and takes float32 beside it along; float16 becomes float32. beta, log_alpha and the state are
    float32."""
    q, k, v, beta, log_alpha = inputs()
    state = cases.Inputs(9, torch.float32)(2, 3, 8, 6)
    low = [t.to(half) for t in (q, k, v)]
    kept = torch.float32 if half is torch.float16 else half
    stream = [torch.zeros(2, 3, 8, 6), torch.zeros(2, 3, 16, 8), torch.zeros(2, 3, 16, 6), torch.zeros(2, 3, 16),
              torch.zeros(2, dtype=torch.int64)]
    with torch.autocast("cpu", dtype=half):
        out, last = ops.delta_memory(*low, beta.to(half), log_alpha.to(half), state.to(half))
        mixed, _ = ops.delta_memory(q, low[1], v, beta, log_alpha)
        wide, _ = ops.delta_memory(q, k, v, beta.to(half), log_alpha)
        extended, *_ = ops.delta_memory_extend(*low, beta, log_alpha, *stream)
    assert out.dtype == mixed.dtype == extended.dtype == kept and wide.dtype == last.dtype == torch.float32
    low = [t.to(kept) for t in low]
    expected = ops.delta_memory(*low, beta.to(half).float(), log_alpha.to(half).float(), state.to(half).float())
    assert torch.equal(out, expected[0]) and torch.equal(last, expected[1])
    assert torch.equal(mixed, ops.delta_memory(q.to(kept), low[1], v.to(kept), beta, log_alpha)[0])
    assert torch.equal(wide, ops.delta_memory(q, k, v, beta.to(half).float(), log_alpha)[0])
    assert torch.equal(extended, ops.delta_memory(*low, beta, log_alpha)[0])


def test_autocast_gradients_reach_the_16_bit_leaf():
    """Each leaf's gradient has the leaf's dtype, and is that of the operator on what it was cast to."""
    q, k, v, beta, log_alpha = inputs()
    leaves = [q.bfloat16(), k, v.half(), beta.bfloat16(), log_alpha]
    leaves = [t.detach().requires_grad_() for t in leaves]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, _ = ops.delta_memory(*leaves)
    gradients = torch.autograd.grad(out.sum(), leaves)
    cast = [t.detach().to(torch.bfloat16 if i < 3 else torch.float32).requires_grad_() for i, t in enumerate(leaves)]
    expected = torch.autograd.grad(ops.delta_memory(*cast)[0].sum(), cast)
    for leaf, gradient, other in zip(leaves, gradients, expected):
        assert gradient.dtype == leaf.dtype and torch.equal(gradient, other.to(leaf.dtype))


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_16_bit_without_autocast(half):
    """One rounding of the result; the state stays float32, and beta, log_alpha and the state may be of either dtype."""
    operands = [t.to(half) for t in inputs()]
    out, state = ops.delta_memory(*operands)
    assert out.dtype == half and state.dtype == torch.float32
    exact, exact_state = ops.delta_memory(*(t.double() for t in operands))
    assert (out.double() - exact).abs().max() <= exact.abs().max() * torch.finfo(half).eps
    assert (state.double() - exact_state).abs().max() <= exact_state.abs().max() * torch.finfo(half).eps / 8
    again, _ = ops.delta_memory(*operands[:3], *(t.float() for t in operands[3:]))
    assert torch.equal(again, out)


def test_undefined_gradients():
    """A result that the loss does not use brings no gradient, and none of its own."""
    case = cases.delta_memory_extend()[1].with_grad()
    leaves = case.tensors()
    out, memory, keys, writes, rows, position = ops.delta_memory_extend(*case.args)
    assert not position.requires_grad
    only = torch.autograd.grad(out.sum(), leaves, retain_graph=True)
    both = torch.autograd.grad(out.sum() + sum(0 * t.sum() for t in (memory, keys, writes, rows)), leaves,
                               retain_graph=True)
    for a, b in zip(only, both):
        assert torch.equal(a, b)
    (dq,) = torch.autograd.grad(memory.sum() + writes.sum(), leaves[:1])
    assert torch.equal(dq, torch.zeros_like(dq))  # queries read and do not write
    q, k, v, beta = inputs(decay=None)[:4]
    extended = ops.delta_memory_extend(q.requires_grad_(), k, v, beta, None, *cases.DeltaInputs(3, torch.float32).stream(
        2, 3, 8, 6, [0, 5]))
    assert extended[4].shape == (0,) and not extended[4].requires_grad


def test_wrappers():
    operands = inputs()
    for a, b in zip(longspan.delta_memory(*operands, delta=False), ops.delta_memory(*operands, delta=False)):
        assert torch.equal(a, b)
    stream = [torch.zeros(2, 3, 8, 6), torch.zeros(2, 3, 16, 8), torch.zeros(2, 3, 16, 6), torch.zeros(2, 3, 16),
              torch.zeros(2, dtype=torch.int64)]
    out, *stream = longspan.delta_memory_extend(*(t[:, :, :21] for t in operands), *stream)
    rest, *stream = longspan.delta_memory_extend(*(t[:, :, 21:] for t in operands), *stream)
    assert torch.equal(torch.cat([out, rest], 2), longspan.delta_memory(*operands)[0])
    assert stream[-1].tolist() == [64, 64]


def zeros(*sizes, dtype=torch.float32):
    return torch.zeros(sizes, dtype=dtype)


class TestMessages:
    """Bad input: one line that names the operator, the argument, the rule and the value."""

    good = {"q": zeros(2, 3, 5, 4), "k": zeros(2, 3, 5, 4), "v": zeros(2, 3, 5, 6), "beta": zeros(2, 3, 5)}
    pack = {"q": zeros(1, 3, 5, 4), "k": zeros(1, 3, 5, 4), "v": zeros(1, 3, 5, 6), "beta": zeros(1, 3, 5)}
    stream = {"log_alpha": zeros(2, 3, 5), "memory": zeros(2, 3, 4, 6), "keys": zeros(2, 3, 16, 4),
              "writes": zeros(2, 3, 16, 6), "log_alpha_rows": zeros(2, 3, 16),
              "position": zeros(2, dtype=torch.int64)}

    @pytest.mark.parametrize("change, message", [
        ({"q": zeros(3, 5, 4)}, r"q: expected \[B, H, N, R\], got \[3, 5, 4\]"),
        ({"q": zeros(2, 3, 5, 0)}, r"q: expected R of 1 or more slots, got \[2, 3, 5, 0\]"),
        ({"k": zeros(2, 1, 5, 4)}, r"k: expected \[B = 2, H = 3, N = 5, R = 4\], got \[2, 1, 5, 4\]"),
        ({"v": zeros(2, 3, 4, 6)}, r"v: expected \[B = 2, H = 3, N = 5, D = 6\], got \[2, 3, 4, 6\]"),
        ({"v": zeros(2, 3, 5, 0)}, r"v: expected a width D of 1 or more, got \[2, 3, 5, 0\]"),
        ({"beta": zeros(2, 3, 5, 1)}, r"beta: expected \[B = 2, H = 3, N = 5\], got \[2, 3, 5, 1\]"),
        ({"k": zeros(2, 3, 5, 4, dtype=torch.float64)}, r"k: expected float32 as q, got float64"),
        ({"beta": zeros(2, 3, 5, dtype=torch.bfloat16)}, r"beta: expected float32 as q, got bfloat16"),
        ({"log_alpha": zeros(2, 3)}, r"log_alpha: expected \[B, H, N\] or \[B, H, N, R\], got \[2, 3\]"),
        ({"log_alpha": zeros(2, 3, 4)}, r"log_alpha: expected \[B = 2, H = 3, N = 5\], got \[2, 3, 4\]"),
        ({"log_alpha": zeros(2, 3, 5, 6)},
         r"log_alpha: expected \[B = 2, H = 3, N = 5, R = 4\], got \[2, 3, 5, 6\]"),
        ({"state": zeros(2, 3, 6, 4)}, r"state: expected \[B = 2, H = 3, R = 4, D = 6\], got \[2, 3, 6, 4\]"),
        ({"state": zeros(2, 3, 4, 6, dtype=torch.float64)}, r"state: expected float32 as q, got float64"),
        ({"cu_seqlens": torch.tensor([0, 5])}, r"cu_seqlens: expected a batch of 1 in a packed call, got B = 2"),
        ({**pack, "cu_seqlens": torch.tensor([0, 4])},
         r"cu_seqlens: expected a last border of 5, the number of rows, got 4"),
        ({**pack, "cu_seqlens": torch.tensor([0, 2, 5]), "state": zeros(1, 3, 4, 6)},
         r"state: expected \[S = 2, H = 3, R = 4, D = 6\], got \[1, 3, 4, 6\]"),
    ])
    @pytest.mark.parametrize("backend", ["kernel", "composed", "reference"])
    def test_delta_memory(self, change, message, backend):
        with pytest.raises(ValueError, match="^delta_memory: " + message + "$"):
            ops.delta_memory(**{**self.good, **change}, backend=backend)

    @pytest.mark.parametrize("change, message", [
        ({"log_alpha": None}, r"log_alpha_rows: expected none without log_alpha, got one"),
        ({"log_alpha_rows": None}, r"log_alpha_rows: expected one beside log_alpha, got none"),
        ({"log_alpha_rows": zeros(2, 3, 16, 4)},
         r"log_alpha_rows: expected \[B = 2, H = 3, 16\], got \[2, 3, 16, 4\]"),
        ({"memory": zeros(2, 3, 6, 4)}, r"memory: expected \[B = 2, H = 3, R = 4, D = 6\], got \[2, 3, 6, 4\]"),
        ({"keys": zeros(2, 3, 5, 4)}, r"keys: expected \[B = 2, H = 3, 16, R = 4\], got \[2, 3, 5, 4\]"),
        ({"writes": zeros(2, 3, 16, 4)}, r"writes: expected \[B = 2, H = 3, 16, D = 6\], got \[2, 3, 16, 4\]"),
        ({"writes": zeros(2, 3, 16, 6, dtype=torch.float64)}, r"writes: expected float32, got float64"),
        ({"position": zeros(3, dtype=torch.int64)}, r"position: expected \[B = 2\], got \[3\]"),
        ({"position": zeros(2, dtype=torch.int32)}, r"position: expected int64, got int32"),
        ({"position": torch.tensor([0, -4])}, r"position: expected 0 or more, got -4 at index 1"),
        ({"position": torch.tensor([2 ** 63 - 6, 2 ** 63 - 5])},
         r"position: expected at most 2\^63 - 1 - N = 9223372036854775802, got 9223372036854775803 at index 1"),
    ])
    @pytest.mark.parametrize("backend", ["kernel", "composed", "reference"])
    def test_extend(self, change, message, backend):
        with pytest.raises(ValueError, match="^delta_memory_extend: " + message + "$"):
            ops.delta_memory_extend(**{**self.good, **self.stream, **change}, backend=backend)

    @pytest.mark.parametrize("given, message", [
        ((zeros(2, 3, 5, 4), None), r"dout: expected \[B = 2, H = 3, N = 5, D = 6\], got \[2, 3, 5, 4\]"),
        ((None, zeros(2, 3, 4, 6, dtype=torch.float64)), r"dstate_out: expected float32, got float64"),
        ((None, None, zeros(1, 4, 6)), r"segments: expected \[6, R = 4, D = 6\], got \[1, 4, 6\]"),
    ])
    def test_backward(self, given, message):
        with pytest.raises(ValueError, match="^delta_memory: " + message + "$"):
            ops.delta_memory_backward(*given[:2], **self.good, segments=given[2] if len(given) > 2 else None)

    def test_float16_and_large_heads_have_no_kernel(self):
        half = {name: t.half() for name, t in self.good.items()}
        message = "delta_memory: backend: the kernel takes float32, float64 and bfloat16 on the CPU, got float16 on cpu"
        with pytest.raises(ValueError, match=message):
            ops.delta_memory(**half, backend="kernel")
        large = {**self.good, "v": zeros(2, 3, 5, 300)}
        with pytest.raises(ValueError, match="which does not take R = 4, D = 300, above 256$"):
            ops.delta_memory(**large, backend="kernel")
        assert ops.delta_memory(**large)[0].shape == (2, 3, 5, 300)
