"""Everything about the operators that is neither a derivative nor a golden value."""

import math

import pytest
import torch

import cases
import longspan

ops = torch.ops.longspan


def inputs(n=64, dtype=torch.float32, seed=5, h=3, d=16, r=8):
    x = cases.Inputs(seed, dtype)
    return x(2, h, n, d), x(2, h, n, d), x(2, h, n, d), x(h, 17), x.basis(h, r, d)


def test_thread_count_changes_no_bit():
    q, k, v, table, basis = (t.requires_grad_() for t in inputs(n=2000))

    def run():
        local = ops.local_attention(q, k, v, table, 8, 0)
        out = ops.orthogonal_memory(q, local, basis, "causal")
        return local, out, *torch.autograd.grad((out * out).sum(), (q, k, v, table, basis))

    cases.assert_threads_change_no_bit(run)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_of_local_attention(half):
    """bfloat16 stays, and takes float32 beside it along; float16 becomes float32. The table is float32."""
    q, k, v, table, _ = inputs()
    low = [t.to(half) for t in (q, k, v)]
    kept = torch.float32 if half is torch.float16 else half
    with torch.autocast("cpu", dtype=half):
        local = ops.local_attention(*low, table.to(half), 8, 0)
        mixed = ops.local_attention(q, low[1], v, table, 8, 0)
        wide = ops.local_attention(q, k, v, table, 8, 0)
        float32_out = ops.local_attention(*low, table, 8, 0, float32_out=True)
    assert local.dtype == mixed.dtype == kept and wide.dtype == float32_out.dtype == torch.float32
    low = [t.to(kept) for t in low]
    assert torch.equal(local, ops.local_attention(*low, table.to(half).float(), 8, 0))
    assert torch.equal(mixed, ops.local_attention(q.to(kept), low[1], v.to(kept), table, 8, 0))
    assert torch.equal(wide, ops.local_attention(q, k, v, table, 8, 0))
    assert torch.equal(float32_out.to(kept), ops.local_attention(*low, table, 8, 0))


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_of_the_memory(half):
    """The same, but that float32 features stay so beside a bfloat16 query."""
    q, _, m, _, basis = inputs()
    low_q, low_m = q.to(half), m.to(half)
    closed = torch.zeros(2, 3, 8, dtype=torch.float64)
    count = torch.zeros(2, dtype=torch.int64)
    with torch.autocast("cpu", dtype=half):
        memory = ops.orthogonal_memory(low_q, low_m, basis, "causal")
        mixed = ops.orthogonal_memory(low_q, m, basis, "causal")
        extended = ops.orthogonal_memory_extend(low_q, low_m, basis, closed, closed, count)
        taken = ops.orthogonal_memory(q, low_m, basis.to(half), "causal")
        wide = ops.orthogonal_memory(q, m, basis.to(half), "causal")
    kept = torch.float32 if half is torch.float16 else half
    assert memory.dtype == mixed.dtype == taken.dtype == extended[0].dtype == kept and wide.dtype == torch.float32
    assert torch.equal(memory, ops.orthogonal_memory(low_q.to(kept), low_m.to(kept), basis, "causal"))
    assert torch.equal(mixed, ops.orthogonal_memory(low_q.to(kept), m, basis, "causal"))
    assert torch.equal(extended[0], memory)
    low_basis = basis.to(half).float()
    assert torch.equal(taken, ops.orthogonal_memory(q.to(kept), low_m.to(kept), low_basis, "causal"))
    assert torch.equal(wide, ops.orthogonal_memory(q, m, low_basis, "causal"))


def test_autocast_to_another_dtype():
    """bfloat16 operands where autocast asks for float16 become float32, in both operators."""
    q, k, v, table, basis = inputs()
    low = [t.bfloat16() for t in (q, k, v)]
    with torch.autocast("cpu", dtype=torch.float16):
        assert ops.local_attention(*low, table, 8, 0).dtype == torch.float32
        assert ops.orthogonal_memory(low[0], low[2], basis, "causal").dtype == torch.float32


def test_autocast_gradients_reach_the_16_bit_leaf():
    """Each leaf's gradient has the leaf's dtype, and is that of the operator on what it was cast to."""
    q, k, v, table, _ = inputs()
    leaves = q.bfloat16().requires_grad_(), k.requires_grad_(), v.half().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = ops.local_attention(*leaves, table, 8, 0)
    gradients = torch.autograd.grad(out.sum(), leaves)
    low = [t.detach().bfloat16().requires_grad_() for t in leaves]
    expected = torch.autograd.grad(ops.local_attention(*low, table, 8, 0).sum(), low)
    for leaf, gradient, other in zip(leaves, gradients, expected):
        assert gradient.dtype == leaf.dtype and torch.equal(gradient, other.to(leaf.dtype))


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_16_bit_without_autocast(half):
    q, k, v, table, basis = (t.to(half) for t in inputs())
    local = ops.local_attention(q, k, v, table, 8, 0)
    memory = ops.orthogonal_memory(q, v, basis, "causal")
    assert local.dtype == memory.dtype == half
    exact = ops.local_attention(q.double(), k.double(), v.double(), table.double(), 8, 0)
    # One rounding of the result, and float32 arithmetic that is far below it.
    assert (local.double() - exact).abs().max() <= exact.abs().max() * torch.finfo(half).eps
    exact = ops.orthogonal_memory(q.double(), v.double(), basis.double(), "causal")
    assert (memory.double() - exact).abs().max() <= exact.abs().max() * torch.finfo(half).eps


def test_float16_has_no_kernel():
    q, k, v, table, _ = (t.half() for t in inputs())
    message = "local_attention: backend: the kernel takes float32, float64 and bfloat16 on the CPU, got float16 on cpu"
    with pytest.raises(ValueError, match=message):
        ops.local_attention(q, k, v, table, 8, 0, backend="kernel")


def test_stream_equals_one_call():
    q, _, m, _, basis = inputs(n=700)
    whole = ops.orthogonal_memory(q, m, basis, "causal")
    state = (torch.zeros(2, 3, 8, dtype=torch.float64), torch.zeros(2, 3, 8, dtype=torch.float64),
             torch.zeros(2, dtype=torch.int64))
    at, parts = 0, []
    for size in (1, 0, 254, 1, 1, 255, 188):
        rows = slice(at, at + size)
        out, *state, _ = ops.orthogonal_memory_extend(q[:, :, rows], m[:, :, rows], basis, *state)
        parts.append(out)
        at += size
    assert at == 700 and state[2].tolist() == [700, 700]
    assert torch.equal(torch.cat(parts, 2), whole)


def test_packed_equals_alone():
    q, k, v, table, basis = inputs(n=300)
    q, k, v = q[:1], k[:1], v[:1]
    cu = torch.tensor([0, 37, 37, 38, 300], dtype=torch.int32)
    local = ops.local_attention(q, k, v, table, 8, 8, None, cu)
    memory = ops.orthogonal_memory(q, v, basis, "full", 1.0, cu)
    for begin, end in zip(cu[:-1], cu[1:]):
        a, b, c = (t[:, :, begin:end] for t in (q, k, v))
        assert torch.equal(local[:, :, begin:end], ops.local_attention(a, b, c, table, 8, 8))
        assert torch.equal(memory[:, :, begin:end], ops.orthogonal_memory(a, c, basis, "full"))


def test_layouts():
    q, k, v, table, basis = inputs()
    expected = ops.local_attention(q, k, v, table, 8, 0), ops.orthogonal_memory(q, v, basis, "causal")
    swapped = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v)]
    strided = [torch.stack([t, t], -1)[..., 0] for t in (q, k, v)]
    for layout in (swapped, strided):
        results = (ops.local_attention(*layout, table, 8, 0),
                   ops.orthogonal_memory(layout[0], layout[2], basis, "causal"))
        for a, b in zip(results, expected):
            assert torch.equal(a, b)
    # Heads can be joined without a copy.
    assert ops.local_attention(*swapped, table, 8, 0).transpose(1, 2).is_contiguous()
    assert ops.orthogonal_memory(swapped[0], swapped[2], basis, "causal").transpose(1, 2).is_contiguous()


@pytest.mark.parametrize("shape", [(0, 3, 5, 4), (2, 0, 5, 4), (2, 3, 0, 4)], ids=str)
def test_empty(shape):
    q = torch.randn(shape, requires_grad=True)
    basis = torch.eye(4)[None].requires_grad_()
    for out in (ops.local_attention(q, q, q, None, 2, 0), ops.orthogonal_memory(q, q, basis, "causal"),
                ops.orthogonal_memory(q, q, basis, "full")):
        assert out.shape == shape
        out.sum().backward()
    assert q.grad.shape == shape and torch.equal(basis.grad, torch.zeros_like(basis))


def test_no_sources_give_zeros():
    q, m, basis = torch.randn(1, 2, 3, 4, requires_grad=True), torch.randn(1, 2, 0, 4), torch.eye(4)[None]
    for backend in ("kernel", "composed", "reference"):
        out = ops.orthogonal_memory(q, m, basis, "full", backend=backend)
        assert torch.equal(out, torch.zeros_like(q))
        (dq,) = torch.autograd.grad(out.sum(), q)
        assert torch.equal(dq, torch.zeros_like(q))


def test_wrappers():
    q, k, v, table, basis = inputs()
    local = longspan.local_attention(q, k, v, table, reach_left=8, reach_right=0)
    assert torch.equal(local, ops.local_attention(q, k, v, table, 8, 0))
    assert torch.equal(longspan.orthogonal_memory(q, local, basis, "full", 0.5),
                       ops.orthogonal_memory(q, local, basis, "full", 0.5))
    zeros = torch.zeros(2, 3, 8, dtype=torch.float64)
    extended = longspan.orthogonal_memory_extend(q, local, basis, zeros, zeros, torch.zeros(2, dtype=torch.int64))
    assert torch.equal(extended[0], ops.orthogonal_memory(q, local, basis, "causal"))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_graph_has_no_break(dynamic):
    q, k, v, table, basis = (t.requires_grad_() for t in inputs())

    def layer(q, k, v, table, basis):
        local = ops.local_attention(q, k, v, table, 8, 0)
        return local + ops.orthogonal_memory(q, local, basis, "causal")

    compiled = torch.compile(layer, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for n in (64, 40):
        x = [t[:, :, :n] for t in (q, k, v)] + [table, basis]
        eager, traced = layer(*x), compiled(*x)
        assert torch.equal(eager, traced)
        for a, b in zip(torch.autograd.grad(eager.sum(), (q, k, v, table, basis)),
                        torch.autograd.grad(traced.sum(), (q, k, v, table, basis))):
            assert torch.equal(a, b)


class TestMessages:
    """Bad input: one line that names the operator, the argument, the rule and the value."""

    x = torch.zeros(2, 3, 5, 4)

    @pytest.mark.parametrize("arguments, message", [
        ((x[0], x, x, None, 1, 0), r"q: expected \[B, H, N, D\], got \[3, 5, 4\]"),
        ((x, x[:, :2], x, None, 1, 0), r"k: expected a number of heads Hk that divides H = 3, got \[2, 2, 5, 4\]"),
        ((x, x, x[:, :, :3], None, 1, 0), r"v: expected \[B = 2, Hk = 3, M = 5, Dv\], got \[2, 3, 3, 4\]"),
        ((x, x[:, :, :3], x[:, :, :3], None, 1, 0), r"k: expected at least as many rows as q, 5, got 3"),
        ((x, x.double(), x, None, 1, 0), r"k: expected float32 as q, got float64"),
        ((x.long(), x, x, None, 1, 0), r"q: expected a floating point dtype, got int64"),
        ((x, x, x, None, -1, 0), r"reach_left: expected 0 or more, got -1"),
        ((x, x, x, None, 0, -2), r"reach_right: expected 0 or more, got -2"),
        ((x, x, x, None, 0, 0, math.nan), r"scale: expected a finite number, got nan"),
        ((x, x, x, torch.zeros(2, 3), 1, 0), r"table: expected \[H = 3, 2c \+ 1\] or \[1, 2c \+ 1\], got \[2, 3\]"),
        ((x, x, x, torch.zeros(3, 4), 1, 0), r"table: expected 2c \+ 1 entries with c >= 1, the longer reach, got 4"),
        ((x, x, x, torch.zeros(3, 3), 1, 2), r"table: expected 2c \+ 1 entries with c >= 2, the longer reach, got 3"),
        ((x, x, x, None, 1, 0, None, torch.tensor([0, 5])), r"cu_seqlens: expected a batch of 1 .*, got B = 2"),
        ((x[:1], x[:1], x[:1], None, 1, 0, None, torch.tensor([0, 4])),
         r"cu_seqlens: expected a last border of 5, the number of rows, got 4"),
        ((x[:1], x[:1], x[:1], None, 1, 0, None, torch.tensor([1, 5])),
         r"cu_seqlens: expected a first border of 0, got 1"),
        ((x[:1], x[:1], x[:1], None, 1, 0, None, torch.tensor([0, 4, 3, 5])),
         r"cu_seqlens: expected ascending borders, got 4 before 3 at index 1"),
        ((x[:1], x[:1], x[:1], None, 1, 0, None, torch.tensor([0.0, 5.0])),
         r"cu_seqlens: expected int64 or int32, got float32"),
        ((x[:1], x[:1], x[:1], None, 1, 0, None, torch.tensor([0, 2, 5]), torch.tensor([0, 1, 5])),
         r"cu_seqlens_k: expected at least 2 keys in sequence 0, as many as it has queries, got 1"),
        ((x[:1], x[:1], x[:1], None, 1, 0, None, None, torch.tensor([0, 5])),
         r"cu_seqlens: expected together with cu_seqlens_k, got none"),
        ((x[:1], x[:1], x[:1], None, 1, 0, None, torch.tensor([0])),
         r"cu_seqlens: expected a last border of 5, the number of rows, got 0"),
        ((x[:1], x[:1], x[:1], None, 1, 0, None, torch.tensor([7])),
         r"cu_seqlens: expected a first border of 0, got 7"),
    ])
    @pytest.mark.parametrize("backend", ["kernel", "composed", "reference"])
    def test_local_attention(self, arguments, message, backend):
        with pytest.raises(ValueError, match="^local_attention: " + message + "$"):
            if arguments[0].dtype.is_floating_point:
                ops.local_attention(*arguments, backend=backend)
            else:  # no backend takes it
                ops.local_attention(*arguments)

    def test_results_on_another_device(self):
        """The backward operator reads all of its operands' values."""
        out, lse = ops.local_attention_forward(self.x, self.x, self.x, None, 1, 0)
        with pytest.raises(ValueError, match="^local_attention: lse: expected device cpu as q, got meta$"):
            ops.local_attention_backward(out, self.x, self.x, self.x, None, out, lse.to("meta"), 1, 0)

    @pytest.mark.parametrize("arguments, message", [
        ((x, x, torch.zeros(3, 2, 4), "forward"), r"form: expected causal or full, got forward"),
        ((x, x[..., :3], torch.zeros(3, 2, 4), "full"), r"m: expected \[B = 2, Hm, M, D = 4\], got \[2, 3, 5, 3\]"),
        ((x, x[:, :, :3], torch.zeros(3, 2, 4), "causal"), r"m: expected as many rows as q, 5, in .*, got 3"),
        ((x, x, torch.zeros(2, 2, 4), "full"),
         r"basis: expected \[H = 3, R, D = 4\] or \[1, R, D\], R >= 1, got \[2, 2, 4\]"),
        ((x, x, torch.zeros(3, 0, 4), "full"), r"basis: expected .*, got \[3, 0, 4\]"),
        ((x[:1], x[:1], torch.zeros(3, 2, 4), "causal", 1.0, torch.tensor([0, 5]), torch.tensor([0, 5])),
         r"cu_seqlens_source: expected none in the causal form, got \[2\]"),
        ((x, x[:, :2], torch.zeros(3, 2, 4), "causal"),
         r"m: expected a number of heads Hm that divides H = 3, got \[2, 2, 5, 4\]"),
        ((x, x.bfloat16(), torch.zeros(3, 2, 4), "causal"), r"m: expected float32 as q, got bfloat16"),
        ((x.bfloat16(), x.double(), torch.zeros(3, 2, 4), "causal"),
         r"m: expected bfloat16 as q or float32, got float64"),
    ])
    def test_orthogonal_memory(self, arguments, message):
        with pytest.raises(ValueError, match="^orthogonal_memory: " + message + "$"):
            ops.orthogonal_memory(*arguments)

    @pytest.mark.parametrize("form, options, message", [
        ("causal", {"window": -1}, r"window: expected 0 or more, got -1"),
        ("causal", {"scale": math.inf}, r"scale: expected a finite number, got inf"),
        ("full", {"window": 4}, r"window: expected 0 in the form full, got 4"),
        ("causal", {"accumulator": "float16"},
         r"accumulator: expected float64, float32_compensated or float32, got float16"),
        ("causal", {"dropout": 1.0}, r"dropout: expected a probability in \[0, 1\), got 1"),
        ("causal", {"dropout": 0.5}, r"dropout_seed: expected with a dropout of 0.5, got none"),
        ("causal", {"dropout": 0.5, "dropout_seed": torch.tensor([1])},
         r"dropout_seed: expected no dimensions, got \[1\]"),
    ])
    @pytest.mark.parametrize("backend", ["kernel", "composed", "reference"])
    def test_options_of_orthogonal_memory(self, form, options, message, backend):
        with pytest.raises(ValueError, match="^orthogonal_memory: " + message + "$"):
            ops.orthogonal_memory(self.x, self.x, torch.zeros(3, 2, 4), form, **options, backend=backend)

    @pytest.mark.parametrize("options, message", [
        ({"window": 4}, r"visible: expected with a window, got none"),
        ({"visible": torch.zeros(2, 3, 2).double()}, r"visible: expected none without a window, got one"),
        ({"window": 4, "visible": torch.zeros(2, 3, 2)}, r"visible: expected float64, got float32"),
        ({"window": 4, "visible": torch.zeros(2, 3, 4).double()},
         r"visible: expected \[B = 2, H = 3, R = 2\], got \[2, 3, 4\]"),
        ({"accumulator": "float32"}, r"closed: expected float32, got float64"),
        ({"accumulator": "float32_compensated"},
         r"closed: expected \[B = 2, H = 3, 2 R = 4\], got \[2, 3, 2\]"),
    ])
    @pytest.mark.parametrize("backend", ["kernel", "composed", "reference"])
    def test_options_of_extend(self, options, message, backend):
        sums = torch.zeros(2, 3, 2, dtype=torch.float64)
        with pytest.raises(ValueError, match="^orthogonal_memory_extend: " + message + "$"):
            ops.orthogonal_memory_extend(self.x, self.x, torch.zeros(3, 2, 4), sums, sums,
                                         torch.zeros(2, dtype=torch.int64), **options, backend=backend)

    @pytest.mark.parametrize("place, value, message", [
        (3, torch.zeros(2, 3, 2), r"closed: expected float64, got float32"),
        (4, torch.zeros(2, 3, 3).double(), r"open: expected \[B = 2, H = 3, R = 2\], got \[2, 3, 3\]"),
        (5, torch.zeros(3, dtype=torch.int64), r"count: expected \[B = 2\], got \[3\]"),
        (5, torch.zeros(2, dtype=torch.int32), r"count: expected int64, got int32"),
        (5, torch.tensor([0, -4]), r"count: expected 0 or more, got -4 at index 1"),
        (5, torch.tensor([2 ** 63 - 6, 2 ** 63 - 5]),
         r"count: expected at most 2\^63 - 1 - N = 9223372036854775802, got 9223372036854775803 at index 1"),
    ])
    @pytest.mark.parametrize("backend", ["kernel", "composed", "reference"])
    def test_extend(self, place, value, message, backend):
        sums = torch.zeros(2, 3, 2, dtype=torch.float64)
        arguments = [self.x, self.x, torch.zeros(3, 2, 4), sums, sums, torch.zeros(2, dtype=torch.int64)]
        arguments[place] = value
        with pytest.raises(ValueError, match="^orthogonal_memory_extend: " + message + "$"):
            ops.orthogonal_memory_extend(*arguments, backend=backend)

    def test_backend(self):
        message = "^local_attention: backend: expected auto, kernel, composed or reference, got fast$"
        with pytest.raises(ValueError, match=message):
            ops.local_attention(self.x, self.x, self.x, None, 1, 0, backend="fast")
