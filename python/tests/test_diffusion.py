"""The mathematics of longspan::diffusion: golden values, properties, a dense float64 reference of its own."""

import math

import pytest
import torch

import bounds
import cases
import longspan
import masks

ops = torch.ops.longspan
BACKENDS = ["kernel", "composed", "reference"]
DOUBLE = torch.finfo(torch.float64).eps


def dense_weights(q, k, pairs, scale=None):
    """A of one head [n, D], by exponentials of shifted scores, row by row."""
    n, width = q.shape
    weights = torch.zeros(n, n, dtype=torch.float64)
    for i in range(n):
        keys = pairs[i].nonzero()[:, 0]
        if len(keys) == 0:
            continue
        scores = (k[keys].double() @ q[i].double()) * (width ** -0.5 if scale is None else scale)
        numerators = torch.exp(scores - scores.max())
        weights[i, keys] = numerators / numerators.sum()
    return weights


def dense(q, k, v, theta, pairs, scale=None):
    """The polynomial sum of theta_k A^k V of one head, by powers."""
    weights, power, total = dense_weights(q, k, pairs, scale), v.double(), 0
    for coefficient in theta:
        total = total + coefficient * power
        power = weights @ power
    return total


def thetas(kind, hops, alpha=0.1, t=3.0):
    """theta_0 .. theta_K of B.5's table."""
    if kind == "ppr_iterate":
        return [alpha * (1 - alpha) ** k for k in range(hops)] + [(1 - alpha) ** hops]
    if kind == "ppr_truncated":
        return [alpha * (1 - alpha) ** k / (1 - (1 - alpha) ** (hops + 1)) for k in range(hops + 1)]
    if kind == "heat":
        weights = [t ** k / math.factorial(k) for k in range(hops + 1)]
        return [w / sum(weights) for w in weights]
    return [0, 1]


def four(matrix):
    return matrix[None, None]


def identity_of_values(n):
    return four(torch.eye(n, dtype=torch.float64))


def random_heads(n, heads=2, width=4, value_width=3, seed=1, dtype=torch.float64):
    x = cases.Inputs(seed, dtype)
    return x(1, heads, n, width), x(1, heads, n, width), x(1, heads, n, value_width)


def close(actual, expected, units=64):
    """Float64 sums of some hundred terms of O(1)."""
    assert actual.shape == expected.shape
    assert bounds.largest(actual - expected) <= units * DOUBLE * max(1.0, bounds.largest(expected))


# Golden values.

def golden_g3():
    t, c = torch.arange(6, dtype=torch.float64)[:, None], torch.arange(2, dtype=torch.float64)[None]
    q, k, v = (torch.sin(a * t + b * c + e) for a, b, e in ((0.7, 1.3, 0.5), (0.3, -0.8, 0.2), (1.1, 0.6, -0.4)))
    pattern, pairs = masks.pattern(6, 1, (4,), torch.tensor([[0], [5]]))
    assert pairs.sum() == 23
    return four(q), four(k), four(v), pattern, pairs


GOLDEN = {
    "K=3": (("ppr_iterate", 3, {"alpha": 0.15}),
            [[-.3136248827, -.1750787204], [.0512140105, .0755412828], [.2086336224, .0669962084],
             [.1140279360, -.1129727358], [-.1869014451, -.2255432623], [-.4372279809, -.3529859177]]),
    "K=5": (("ppr_iterate", 5, {"alpha": 0.1}),
            [[-.2273297387, -.1531869607], [.0036792859, .0080836552], [.0978113014, -.0046630271],
             [.0360472219, -.1193049399], [-.1540063054, -.1933920528], [-.3060602743, -.2662450573]]),
    # A hundred hops more change less than the digits given.
    "limit": (("ppr_iterate", 300, {"alpha": 0.1}),
              [[-.2058209481, -.1410574282], [.0030656482, .0073718540], [.0801658916, -.0147866860],
               [.0127178555, -.1319524494], [-.1507113954, -.1916756349], [-.2844278374, -.2536099968]]),
    "heat": (("heat", 5, {"t": 3.0}),
             [[-.3064524668, -.2207500323], [-.0043027110, -.0081335650], [.1186516649, -.0062244114],
              [.0957204033, -.0901222705], [-.1239320335, -.1411958744], [-.3815566957, -.3307634861]]),
}


@pytest.mark.parametrize("column", GOLDEN)
@pytest.mark.parametrize("backend", BACKENDS)
def test_g3(column, backend):
    (kind, hops, given), rows = GOLDEN[column]
    q, k, v, pattern, _ = golden_g3()
    coefficients = longspan.diffusion_coefficients(kind, hops, **given)
    out = longspan.diffusion(q, k, v, coefficients, pattern, backend=backend)
    assert (out[0, 0] - torch.tensor(rows, dtype=torch.float64)).abs().max() <= 0.5e-10 + 1e-14


@pytest.mark.parametrize("backend", BACKENDS)
def test_g3_weights(backend):
    q, k, _, pattern, _ = golden_g3()
    single = longspan.diffusion_coefficients("single")
    weights = longspan.diffusion(q, k, identity_of_values(6), single, pattern, backend=backend)[0, 0]
    expected = torch.tensor([[.1179836121, .1561855835, 0, 0, .3352612185, .3905695859],
                             [0, .2084245796, .2414317544, .2679281195, .2822155465, 0]], dtype=torch.float64)
    assert (weights[[0, 2]] - expected).abs().max() <= 0.5e-10 + 1e-14


def test_heat_weights_of_hops():
    coefficients = longspan.diffusion_coefficients("heat", 5, t=3.0)[0]
    theta = torch.cat([coefficients[2::2].flip(0), coefficients[:1]])
    expected = [.0543478261, .1630434783, .2445652174, .2445652174, .1834239130, .1100543478]
    assert (theta - torch.tensor(expected, dtype=torch.float64)).abs().max() <= 0.5e-10 + 1e-15


def test_heat_of_any_finite_time():
    """Terms t^k / k! beyond all numbers: the weights are those of the last hops."""
    for t in (0.0, 1000.0, 1e308):
        time = torch.tensor(t, dtype=torch.float64, requires_grad=True)
        coefficients = longspan.diffusion_coefficients("heat", 200, t=time)[0]
        theta = torch.cat([coefficients[2::2].flip(0), coefficients[:1]])
        k = torch.arange(201, dtype=torch.float64)
        logs = torch.where(k > 0, k * math.log(t) if t else -math.inf, 0.0) - torch.lgamma(k + 1)
        # The error of a logarithm of this size is that of its exponential.
        close_to = 4 * torch.finfo(torch.float64).eps * logs[logs.isfinite()].abs().max().clamp(min=201)
        assert (theta - torch.softmax(logs, 0)).abs().max() <= close_to
        theta[-1].backward()
        assert time.grad.isfinite()


@pytest.mark.parametrize("backend", BACKENDS)
def test_three_tokens(backend):
    """A = [[.5, .5, 0], [0, .5, .5], [0, 0, 1]], alpha 0.1, two hops."""
    pattern = longspan.pattern("edges", 3, edges=torch.tensor([[0, 1], [1, 2]]))
    zeros = torch.zeros(1, 1, 3, 2, dtype=torch.float64)
    coefficients = longspan.diffusion_coefficients("ppr_iterate", 2, alpha=0.1)
    out = longspan.diffusion(zeros, zeros, identity_of_values(3), coefficients, pattern, backend=backend)
    close(out[0, 0, 0], torch.tensor([0.3475, 0.45, 0.2025], dtype=torch.float64), 8)


# Properties.

@pytest.mark.parametrize("hops", [0, 1, 2, 5])
@pytest.mark.parametrize("kind", ["ppr_iterate", "ppr_truncated", "heat", "single"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_equals_the_polynomial(kind, hops, backend):
    q, k, v = random_heads(23)
    pattern, pairs = masks.mixed(23)
    coefficients = longspan.diffusion_coefficients(kind, hops)
    out = longspan.diffusion(q, k, v, coefficients, pattern, backend=backend)
    for h in range(2):
        close(out[0, h], dense(q[0, h], k[0, h], v[0, h], thetas(kind, hops), pairs))


@pytest.mark.parametrize("backend", BACKENDS)
def test_learned_kind_and_heads_of_their_own(backend):
    q, k, v = random_heads(17)
    pattern, pairs = masks.mixed(17)
    logits = cases.Inputs(3)(2, 4)
    out = longspan.diffusion(q, k, v, longspan.diffusion_coefficients("learned", 3, logits=logits), pattern,
                             backend=backend)
    for h in range(2):
        close(out[0, h], dense(q[0, h], k[0, h], v[0, h], torch.softmax(logits[h], 0).tolist(), pairs))
    alpha = torch.tensor([0.2, 0.7], dtype=torch.float64)
    out = longspan.diffusion(q, k, v, longspan.diffusion_coefficients("ppr_iterate", 3, alpha=alpha), pattern,
                             backend=backend)
    for h in range(2):
        close(out[0, h], dense(q[0, h], k[0, h], v[0, h], thetas("ppr_iterate", 3, alpha[h].item()), pairs))


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_of_powers_sum_to_one(backend):
    n = 29
    q, k, _ = random_heads(n, heads=1)
    pattern, pairs = masks.mixed(n)
    for hops in (1, 4):
        one_power = torch.tensor([[1.0] + [1.0, 0.0] * hops], dtype=torch.float64)
        power = longspan.diffusion(q, k, identity_of_values(n), one_power, pattern, backend=backend)[0, 0]
        assert (power.sum(1) - 1).abs().max() <= 1e-14 * hops and power.min() >= 0
        if hops == 1:
            assert torch.equal(power > 0, pairs)


@pytest.mark.parametrize("backend", BACKENDS)
def test_trivial_coefficients(backend):
    n = 20
    q, k, v = random_heads(n)
    pattern, pairs = masks.mixed(n)

    def run(values, *kind, **given):
        return longspan.diffusion(q, k, values, longspan.diffusion_coefficients(*kind, **given), pattern,
                                  backend=backend)

    assert torch.equal(run(v, "ppr_iterate", 0), v)
    assert torch.equal(run(v, "ppr_iterate", 4, alpha=1.0), v)
    close(run(v, "ppr_iterate", 1, alpha=0.0), run(v, "single"))
    constant = torch.full_like(v, 0.75)
    for kind in ("ppr_iterate", "ppr_truncated", "heat", "single"):
        close(run(constant, kind, 5), constant)


@pytest.mark.parametrize("backend", BACKENDS)
def test_error_of_a_finite_number_of_hops(backend):
    """||Z_K - Z_*|| <= (1 - alpha)^K ||V - Z_*||, with equality for a permutation."""
    alpha, hops, n = 0.1, 5, 5
    _, _, v = random_heads(n, heads=1)
    cycle = torch.roll(torch.eye(n, dtype=torch.bool), 1, 1)
    for pairs in (cycle, masks.mask(n, 1)):
        q, k, _ = random_heads(n, heads=1, seed=9)
        weights = dense_weights(q[0, 0], k[0, 0], pairs)
        limit = alpha * torch.linalg.solve(torch.eye(n, dtype=torch.float64) - (1 - alpha) * weights, v[0, 0])
        out = longspan.diffusion(q, k, v, longspan.diffusion_coefficients("ppr_iterate", hops, alpha=alpha),
                                 masks.of_edges(pairs), backend=backend)[0, 0]
        error, bound = (out - limit).abs().max(), 0.59049 * (v[0, 0] - limit).abs().max()
        assert error <= bound + 1e-14
        if pairs is cycle:
            assert error >= bound - 1e-14


@pytest.mark.parametrize("backend", BACKENDS)
def test_full_pattern_is_softmax_attention(backend):
    q, k, v = random_heads(50)
    out = longspan.diffusion(q, k, v, longspan.diffusion_coefficients("single"), longspan.pattern("full", 50),
                             backend=backend)
    close(out, torch.nn.functional.scaled_dot_product_attention(q, k, v))


@pytest.mark.parametrize("backend", BACKENDS)
def test_reach_is_the_distance_in_the_pattern(backend):
    n, hops = 24, 3
    q, k, _ = random_heads(n, heads=1)
    coefficients = longspan.diffusion_coefficients("ppr_iterate", hops)
    pattern, pairs = masks.pattern(n, 2)
    out = longspan.diffusion(q, k, identity_of_values(n), coefficients, pattern, backend=backend)[0, 0]
    reached = torch.matrix_power(pairs.double() + torch.eye(n, dtype=torch.float64), hops) > 0
    assert torch.equal(out != 0, reached)
    pattern, _ = masks.pattern(n, 2, (9,))
    two = longspan.diffusion_coefficients("ppr_iterate", 2)
    assert (longspan.diffusion(q, k, identity_of_values(n), two, pattern, backend=backend) != 0).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_causal_reads_no_future(backend):
    n, s = 40, 17
    q, k, v = random_heads(n)
    pattern = longspan.pattern("window_overlap+global+random", n, w=8, g=3, r=4, causal=True, max_len=n)
    coefficients = longspan.diffusion_coefficients("ppr_iterate", 4)
    power = longspan.diffusion(q[:, :1], k[:, :1], identity_of_values(n), coefficients, pattern, backend=backend)
    assert torch.equal(power[0, 0], power[0, 0].tril())
    out = longspan.diffusion(q, k, v, coefficients, pattern, backend=backend)
    q2, k2, v2 = (torch.cat([t[:, :, :s], 9 * t[:, :, s:]], 2) for t in (q, k, v))
    assert torch.equal(out[:, :, :s], longspan.diffusion(q2, k2, v2, coefficients, pattern, backend=backend)[:, :, :s])


def test_response_is_monotone():
    """h_K(l) = alpha (1 - c^K) / (1 - c) + c^K with c = (1 - alpha) (1 - l): 1 at 0, at most 1, falling."""
    alpha, hops = 0.1, 5
    coefficients = longspan.diffusion_coefficients("ppr_iterate", hops, alpha=alpha)[0]
    l = torch.linspace(0, 2, 201, dtype=torch.float64)
    h = coefficients[0] * torch.ones_like(l)
    for hop in range(hops):
        h = coefficients[2 * hop + 1] * (1 - l) * h + coefficients[2 * hop + 2]
    c = (1 - alpha) * (1 - l)
    close(h, alpha * (1 - c ** hops) / (1 - c) + c ** hops)
    assert h[0] == pytest.approx(1, abs=1e-15) and h.max() <= 1 + 1e-15 and (h[1:101] <= h[:100] + 1e-15).all()


# Hard inputs.

@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
def test_scores_of_both_signs_near_a_thousand(backend, dtype):
    n = 12
    sign = torch.tensor([1.0, -1.0] * (n // 2), dtype=dtype)
    q = torch.full((1, 1, n, 1), 10.0, dtype=dtype).requires_grad_()
    k = (100 * sign + torch.arange(n, dtype=dtype) / 8)[None, None, :, None].clone().requires_grad_()
    v = cases.Inputs(2, dtype)(1, 1, n, 3).requires_grad_()
    pattern, pairs = masks.mixed(n)
    coefficients = longspan.diffusion_coefficients("ppr_iterate", 3).to(dtype)
    out = longspan.diffusion(q, k, v, coefficients, pattern, scale=1.0, backend=backend)
    expected = dense(q[0, 0].detach(), k[0, 0].detach(), v[0, 0].detach(), thetas("ppr_iterate", 3), pairs, 1.0)
    # Scores of 1000 have errors of 1000 units.
    assert (out[0, 0].double() - expected).abs().max() <= 2 * 8 * 1000 * torch.finfo(dtype).eps * v.abs().max()
    for gradient in torch.autograd.grad(out.square().sum(), (q, k, v)):
        assert gradient.isfinite().all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_without_keys(backend):
    """A is 0 there: every hop leaves source V, and keys and queries get no gradient."""
    n = 10
    pairs = masks.mask(n, 1)
    pairs[[0, 6]] = False
    q, k, v = (t.requires_grad_() for t in random_heads(n))
    coefficients = longspan.diffusion_coefficients("ppr_iterate", 3, alpha=0.25)
    out = longspan.diffusion(q, k, v, coefficients, masks.of_edges(pairs), backend=backend)
    assert torch.equal(out[:, :, [0, 6]], 0.25 * v[:, :, [0, 6]])
    state = v[0, 0].detach()
    weights = dense_weights(q[0, 0].detach(), k[0, 0].detach(), pairs)
    for _ in range(3):
        state = 0.75 * weights @ state + 0.25 * v[0, 0].detach()
    close(out[0, 0], state)
    lse = ops.diffusion_forward(q, k, v, coefficients, [masks.of_edges(pairs)], backend=backend)[1]
    assert torch.equal(lse.isinf().nonzero()[:, 2].unique(), torch.tensor([0, 6]))
    dq, dk = torch.autograd.grad(out.square().sum(), (q, k))
    assert torch.equal(dq[:, :, [0, 6]], torch.zeros_like(dq[:, :, [0, 6]])) and dk.isfinite().all()


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("backend", BACKENDS)
def test_fewer_tokens_than_a_window(n, backend):
    """One token; windows, global tokens and random keys that there are not."""
    q, k, v = random_heads(n)
    pattern = longspan.pattern("window_overlap+global+random", n, w=64, g=4, r=8)
    out = longspan.diffusion(q, k, v, longspan.diffusion_coefficients("heat", 4), pattern, backend=backend)
    for h in range(2):
        close(out[0, h], dense(q[0, h], k[0, h], v[0, h], thetas("heat", 4), torch.ones(n, n, dtype=torch.bool)))
    if n == 1:
        close(out, v)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_generator(backend):
    """Blocks, columns, circulant offsets: the pairs are those where one hop of an identity is not zero."""
    n = 45
    q, k, v = random_heads(n, heads=1)
    single = longspan.diffusion_coefficients("single")
    for name, given in [("bigbird", {"b": 4, "bigbird_r": 2}), ("fixed", {"l": 7, "c": 2}), ("strided", {"l": 6}),
                        ("uniform", {"uniform_r": 5}), ("window_block", {"b": 6}), ("longformer", {"w": 8, "g": 2}),
                        ("bigbird+random", {"b": 4, "bigbird_r": 1, "r": 3}), ("table_s1", {"w": 8, "g": 3, "r": 4}),
                        ("window_band+random", {"k": 1, "r": 60}), ("full", {})]:
        pattern = longspan.pattern(name, n, **given)
        pairs = ops.diffusion(q, k, identity_of_values(n), single, [pattern], backend="reference")[0, 0] > 0
        assert pairs.any(1).all()
        out = longspan.diffusion(q, k, v, longspan.diffusion_coefficients("ppr_truncated", 3), pattern, backend=backend)
        close(out[0, 0], dense(q[0, 0], k[0, 0], v[0, 0], thetas("ppr_truncated", 3), pairs))


# Padding, packing, streams.

@pytest.mark.parametrize("backend", BACKENDS)
def test_removed_padding_equals_a_shorter_input(backend):
    """What stands in the tokens that are not there, were it not a number, has no influence, gradients included."""
    n, there = 21, [i for i in range(21) if i not in (3, 4, 19, 20)]
    q, k, v = random_heads(n)
    pattern, pairs = masks.mixed(n)
    valid = torch.zeros(1, n, dtype=torch.bool)
    valid[:, there] = True
    coefficients = longspan.diffusion_coefficients("ppr_iterate", 3)
    leaves = [t.clone() for t in (q, k, v)]
    for t in leaves:
        t[:, :, [3, 4, 19, 20]] = torch.tensor([torch.nan, torch.inf, 1e300, -1.0], dtype=torch.float64)[:, None]
    leaves = [t.requires_grad_() for t in leaves]
    out = longspan.diffusion(*leaves, coefficients, pattern, valid=valid, backend=backend)
    short = [t[:, :, there].clone().requires_grad_() for t in (q, k, v)]
    alone = longspan.diffusion(*short, coefficients, masks.of_edges(pairs[there][:, there]), backend=backend)
    close(out[:, :, there], alone)
    assert torch.equal(out[:, :, [3, 4, 19, 20]], torch.zeros_like(out[:, :, [3, 4, 19, 20]]))
    weight = cases.Inputs(8)(1, 2, n, 3)
    for a, b in zip(torch.autograd.grad((out * weight).sum(), leaves),
                    torch.autograd.grad((alone * weight[:, :, there]).sum(), short)):
        close(a[:, :, there], b, 256)
        assert torch.equal(a[:, :, [3, 4, 19, 20]], torch.zeros_like(a[:, :, [3, 4, 19, 20]]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_reference_padding(backend):
    """A pair with an invalid end has the score -10000: real rows are unaffected, padded ones take means."""
    n, there = 12, 9
    q, k, v = random_heads(n, heads=1)
    pattern, pairs = masks.pattern(n, 2)
    valid = torch.arange(n)[None] < there
    one = longspan.diffusion_coefficients("single")
    out = longspan.diffusion(q, k, v, one, pattern, valid=valid, padding="reference", backend=backend)[0, 0]
    scores = (q[0, 0] @ k[0, 0].T) / 2
    scores[there:] = scores[:, there:] = -10000
    expected = torch.softmax(scores.masked_fill(~pairs, -torch.inf), 1) @ v[0, 0]
    close(out, expected)
    close(out[-1], v[0, 0, -3:].mean(0))


@pytest.mark.parametrize("backend", BACKENDS)
def test_packed_and_batched_sequences_equal_single_ones(backend):
    lengths, x = [7, 0, 16, 7, 1], cases.Inputs(5)
    made = {n: masks.mixed(n, n)[0] if n > 1 else longspan.pattern("window_band", n) for n in set(lengths)}
    order = sorted(made)
    total = sum(lengths)
    q, k, v = x(1, 4, total, 4), x(1, 2, total, 4), x(1, 2, total, 3)
    coefficients = longspan.diffusion_coefficients("ppr_iterate", 3)
    cu = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32)
    of = torch.tensor([order.index(n) for n in lengths])
    given = {"attention_dropout": 0.3, "hop_dropout": 0.2, "dropout_seed": torch.tensor(5)}
    packed = longspan.diffusion(q, k, v, coefficients, [made[n] for n in order], of, cu_seqlens=cu, backend=backend,
                                **given)
    for s, n in enumerate(lengths):
        at = slice(int(cu[s]), int(cu[s]) + n)
        alone = longspan.diffusion(q[:, :, at], k[:, :, at], v[:, :, at], coefficients, made[n], backend=backend,
                                   dropout_origin=torch.tensor([[s, 0]]), **given)
        close(packed[:, :, at], alone)

    n = 16
    several = [masks.mixed(n, 1)[0], masks.mixed(n, 2)[0]]
    q, k, v = x(3, 4, n, 4), x(3, 2, n, 4), x(3, 2, n, 3)
    of = torch.tensor([1, 0, 1])
    together = longspan.diffusion(q, k, v, coefficients, several, of, backend=backend, **given)
    for b in range(3):
        alone = longspan.diffusion(q[b:b + 1], k[b:b + 1], v[b:b + 1], coefficients, several[of[b]], backend=backend,
                                   dropout_origin=torch.tensor([[b, 0]]), **given)
        close(together[b:b + 1], alone)


@pytest.mark.parametrize("given", [{}, {"attention_dropout": 0.3, "hop_dropout": 0.2, "dropout_seed": torch.tensor(7)},
                                   {"attention_dropout": 0.3, "dropout_mode": "per_hop",
                                    "dropout_seed": torch.tensor(7)}], ids=["plain", "once", "per_hop"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_stream_equals_one_call(backend, given):
    """Outputs and gradients, whatever the cuts."""
    n, hops, x = 33, 3, cases.Inputs(6)
    tensors = x(2, 2, n, 4), x(2, 1, n, 4), x(2, 1, n, 3)
    coefficients = longspan.diffusion_coefficients("ppr_iterate", hops)
    options = {"w": 6, "g": 2, "r": 3, "causal": True, "max_len": 64}
    weight = x(2, 2, n, 3)

    def pattern(m):
        return longspan.pattern("window_overlap+global+random", m, **options)

    q, k, v = (t.clone().requires_grad_() for t in tensors)
    whole = longspan.diffusion(q, k, v, coefficients, pattern(n), backend=backend, **given)
    expected = torch.autograd.grad((whole * weight).sum(), (q, k, v))
    q, k, v = (t.clone().requires_grad_() for t in tensors)
    states, parts, at = torch.zeros(2, 2, hops, 0, 3, dtype=torch.float64), [], 0
    for size in (1, 0, 7, 12, 13):
        end = at + size
        out, added = longspan.diffusion_extend(q[:, :, at:end], k[:, :, :end], v[:, :, at:end], coefficients, states,
                                               pattern(end), backend=backend, **given)
        states, at = torch.cat([states, added], 3), end
        parts.append(out)
    close(torch.cat(parts, 2), whole)
    for a, b in zip(torch.autograd.grad((torch.cat(parts, 2) * weight).sum(), (q, k, v)), expected):
        close(a, b, 256)


# Modes of the backward pass.

@pytest.mark.parametrize("given", [{}, {"attention_dropout": 0.3, "hop_dropout": 0.2, "dropout_seed": torch.tensor(7)},
                                   {"attention_dropout": 0.3, "dropout_mode": "per_hop",
                                    "dropout_seed": torch.tensor(7)}], ids=["plain", "once", "per_hop"])
def test_backward_modes_agree(given):
    n, x = 70, cases.Inputs(7)
    leaves = [t.requires_grad_() for t in (x(2, 4, n, 4), x(2, 2, n, 4), x(2, 2, n, 5),
                                           longspan.diffusion_coefficients("ppr_iterate", 5).expand(4, 11).clone())]
    pattern, _ = masks.mixed(n)
    weight = x(2, 4, n, 5)
    results = []
    for backward in ("recompute_slices", "store_all", "recompute_quadratic"):
        for edge_weights in ("stored", "recomputed"):
            out = longspan.diffusion(*leaves, pattern, backward=backward, edge_weights=edge_weights, **given)
            results.append([out, *torch.autograd.grad((out * weight).sum(), leaves)])
    for other in results[1:]:
        for a, b in zip(other, results[0]):
            assert (a - b).abs().max() <= 1e-13 * b.abs().max()


# Dropout.

def means(runs, backend="auto", n=6, hops=3, **given):
    """Of out over seeds, and the spread of one. The batch is the sample: masks differ by row."""
    pattern, _ = masks.pattern(n, 1, (2,))
    q, k, v = (t.expand(runs, -1, -1, -1) for t in random_heads(n, heads=1))
    coefficients = longspan.diffusion_coefficients("ppr_iterate", hops)
    out = longspan.diffusion(q, k, v, coefficients, pattern, backend=backend, dropout_seed=torch.tensor(11), **given)
    exact = longspan.diffusion(q[:1], k[:1], v[:1], coefficients, pattern, backend=backend)[0]
    return out.mean(0) - exact, out.std(0) / runs ** 0.5


@pytest.mark.parametrize("given", [{"hop_dropout": 0.3}, {"attention_dropout": 0.3, "dropout_mode": "per_hop"}],
                         ids=["hop", "per_hop"])
def test_independent_masks_leave_the_mean(given):
    error, spread = means(20000, **given)
    assert (error.abs() <= 5 * spread).all()  # 18 numbers: once in 50,000 times by chance


def test_one_mask_for_all_hops_does_not():
    """Paths that use an edge twice are over-weighted."""
    error, spread = means(20000, attention_dropout=0.3, dropout_mode="once")
    assert (error.abs() > 5 * spread).sum() >= 9


@pytest.mark.parametrize("given", [{"hop_dropout": 0.4}, {"attention_dropout": 0.4},
                                   {"attention_dropout": 0.4, "dropout_mode": "per_hop", "hop_dropout": 0.1}], ids=str)
def test_forms_have_one_mask(given):
    q, k, v = random_heads(37)
    pattern = longspan.pattern("bigbird+random", 37, b=4, bigbird_r=2, r=3)
    coefficients = longspan.diffusion_coefficients("ppr_iterate", 4)
    given = {**given, "dropout_seed": torch.tensor(2 ** 40 + 3), "dropout_origin": torch.tensor([[5, 1001]])}
    results = [longspan.diffusion(q, k, v, coefficients, pattern, backend=backend, **given) for backend in BACKENDS]
    for other in results[1:]:
        close(other, results[0], 256)


# Patterns as tensors.

def test_pattern_is_a_pure_function_of_its_arguments():
    given = {"w": 8, "g": 3, "r": 5}
    one = longspan.pattern("window_overlap+global+random", 100, 3, **given)
    assert one.dtype == torch.int32 and one.dim() == 1
    assert torch.equal(one, longspan.pattern("window_overlap+global+random", 100, 3, **given))
    assert not torch.equal(one, longspan.pattern("window_overlap+global+random", 100, 4, **given))
    assert not torch.equal(one, longspan.pattern("window_overlap+global+random", 100, 3, layer=1, **given))
    own = longspan.pattern("window_band+global", 30, global_tokens=[7, 3], k=1)
    assert torch.equal(own, masks.pattern(30, 1, (3, 7))[0])


@pytest.mark.parametrize("edges, message", [
    (torch.tensor([[0, 5], [1, 2]]), r"pattern: edges: .*5.*"),
    (torch.tensor([[0, -1], [1, 2]]), r"pattern: edges: .*-1.*"),
    (torch.tensor([[0, 1], [1, 9]]), r"pattern: edges: .*9.*"),
    (torch.tensor([0, 1]), r"pattern: edges: expected int64 \[2, E\] on the CPU, .*"),
    (torch.tensor([[0.0], [1.0]]), r"pattern: edges: expected int64 \[2, E\] on the CPU, .* got float32 \[2, 1\].*"),
])
def test_bad_edges(edges, message):
    with pytest.raises(ValueError, match="^" + message + "$"):
        longspan.pattern("edges", 5, edges=edges)


@pytest.mark.parametrize("backend", BACKENDS)
def test_edges_in_any_order_and_twice(backend):
    n = 14
    edges = masks.random_edges(n, 40)
    shuffled = torch.cat([edges.flip(1), edges[:, ::3]], 1)
    assert torch.equal(longspan.pattern("edges", n, edges=edges), longspan.pattern("edges", n, edges=shuffled))
    q, k, v = random_heads(n, heads=1)
    pairs = torch.eye(n, dtype=torch.bool)
    pairs[edges[0], edges[1]] = True
    out = longspan.diffusion(q, k, v, longspan.diffusion_coefficients("heat", 3),
                             longspan.pattern("edges", n, edges=shuffled), backend=backend)
    close(out[0, 0], dense(q[0, 0], k[0, 0], v[0, 0], thetas("heat", 3), pairs))


@pytest.mark.parametrize("arguments, given, message", [
    (("windw_band", 5), {}, r".*windw_band.*window_band.*"),
    (("window_band", 5), {"kk": 1}, r".*kk.*"),
    (("window_band", 5), {"k": "two"}, r".*k must be.*two.*"),
    (("window_band", -1), {}, r".*-1.*"),
    (("random", 2 ** 30), {"r": 2 ** 20}, r".*bytes.*"),
])
def test_bad_patterns(arguments, given, message):
    with pytest.raises(ValueError, match="^" + message + "$"):
        longspan.pattern(*arguments, **given)


@pytest.mark.parametrize("name, given", [("window_band+global+random", {"k": 1, "g": 2, "r": 2}),
                                         ("bigbird+random", {"b": 2, "bigbird_r": 1, "r": 1})])
def test_a_changed_pattern_is_refused(name, given):
    """Every word counts; no change of one goes unnoticed."""
    n = 13
    pattern = longspan.pattern(name, n, **given)
    q, k, v = (torch.zeros(1, 1, n, 2) for _ in range(3))
    coefficients = longspan.diffusion_coefficients("single").float()
    for place in range(len(pattern)):
        for change in (1, -1, 1 << 16, -(1 << 31)):
            damaged = pattern.clone()
            damaged[place] = int(torch.tensor(int(damaged[place]) + change).to(torch.int32))
            with pytest.raises(ValueError, match=r"^diffusion: patterns\[0\]: expected a pattern"):
                longspan.diffusion(q, k, v, coefficients, damaged)
    for length in (0, 1, 11, 12, len(pattern) - 1):
        with pytest.raises(ValueError, match=r"^diffusion: patterns\[0\]: expected a pattern"):
            longspan.diffusion(q, k, v, coefficients, pattern[:length].clone())
    strided = torch.stack([pattern, pattern], 1)[:, 0]
    assert torch.equal(longspan.diffusion(q, k, v, coefficients, strided), v)


class TestMessages:
    x = torch.zeros(2, 3, 5, 4)
    c = torch.ones(1, 3)
    p = property(lambda self: longspan.pattern("window_band", 5, k=1))

    @pytest.mark.parametrize("replaced, message", [
        ({"q": x[0]}, r"q: expected \[B, H, N, D\], got \[3, 5, 4\]"),
        ({"k": x[:, :2]}, r"k: expected a number of heads Hk that divides H = 3, got \[2, 2, 5, 4\]"),
        ({"k": x[:, :, :4]}, r"k: expected \[B = 2, Hk, N = 5, D = 4\], got \[2, 3, 4, 4\]"),
        ({"v": x[:, :, :4]}, r"v: expected \[B = 2, Hk = 3, N = 5, Dv\], got \[2, 3, 4, 4\]"),
        ({"k": x.double()}, r"k: expected float32 as q, got float64"),
        ({"coefficients": torch.ones(2, 3)},
         r"coefficients: expected \[H = 3, 2 K \+ 1\] or \[1, 2 K \+ 1\], got \[2, 3\]"),
        ({"coefficients": torch.ones(1, 4)},
         r"coefficients: expected \[H = 3, 2 K \+ 1\] or \[1, 2 K \+ 1\], got \[1, 4\]"),
        ({"coefficients": c.double()}, r"coefficients: expected float32 beside operands of float32, got float64"),
        ({"patterns": []}, r"patterns: expected one or more, got none"),
        ({"patterns": [torch.zeros(20)]},
         r"patterns: expected int32 \[L\] on the CPU as longspan::pattern makes it, got float32 \[20\] on cpu"),
        ({"scale": math.nan}, r"scale: expected a finite number, got nan"),
        ({"padding": "zero"}, r"padding: expected remove or reference, got zero"),
        ({"backward": "fast"},
         r"backward: expected recompute_slices, store_all or recompute_quadratic, got fast"),
        ({"edge_weights": "none"}, r"edge_weights: expected stored or recomputed, got none"),
        ({"dropout_mode": "twice"}, r"dropout_mode: expected once or per_hop, got twice"),
        ({"attention_dropout": 1.0}, r"attention_dropout: expected a probability in \[0, 1\), got 1"),
        ({"hop_dropout": 0.5}, r"dropout_seed: expected with a hop_dropout of 0.5, got none"),
        ({"valid": torch.ones(2, 4, dtype=torch.bool)}, r"valid: expected \[B = 2, N = 5\], got \[2, 4\]"),
        ({"valid": torch.ones(2, 5)}, r"valid: expected bool, got float32"),
        ({"pattern_of": torch.tensor([0])}, r"pattern_of: expected \[S = 2\], got \[1\]"),
        ({"pattern_of": torch.tensor([0, 1])}, r"pattern_of: expected numbers from 0 to 0, got 1 at index 1"),
        ({"cu_seqlens": torch.tensor([0, 5])}, r"cu_seqlens: expected a batch of 1 .*, got B = 2"),
        ({"patterns": [longspan.pattern("window_band", 5).to("meta")]},
         r"patterns: expected int32 \[L\] on the CPU as longspan::pattern makes it, got int32 \[\d+\] on meta"),
        ({"pattern_of": torch.zeros(2, dtype=torch.int64, device="meta")},
         r"pattern_of: expected int64 on the CPU, got int64 on meta"),
    ])
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_diffusion(self, replaced, message, backend):
        given = {"q": self.x, "k": self.x, "v": self.x, "coefficients": self.c, "patterns": [self.p], **replaced}
        with pytest.raises(ValueError, match="^diffusion: " + message + "$"):
            longspan.diffusion(**given, backend=backend)

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_sizes_of_patterns(self, backend):
        with pytest.raises(ValueError, match=r"^diffusion: patterns\[0\]: expected a pattern of 5 tokens, as many as "
                                             r"batch row 0 has, got one of 6$"):
            longspan.diffusion(self.x, self.x, self.x, self.c, longspan.pattern("window_band", 6), backend=backend)
        one = self.x[:1]
        with pytest.raises(ValueError, match=r"^diffusion: patterns\[0\]: expected a pattern of 3 tokens, as many as "
                                             r"sequence 0 has, got one of 5$"):
            longspan.diffusion(one, one, one, self.c, self.p, cu_seqlens=torch.tensor([0, 3, 5]), backend=backend)

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_extend(self, backend):
        states = torch.zeros(2, 3, 1, 2, 4)
        new = self.x[:, :, :3]
        longspan.diffusion_extend(new, self.x, new, self.c, states, self.p, backend=backend)
        with pytest.raises(ValueError, match=r"^diffusion_extend: states: expected \[B = 2, H = 3, K = 1, P = 2, "
                                             r"Dv = 4\], got \[2, 3, 1, 1, 4\]$"):
            longspan.diffusion_extend(new, self.x, new, self.c, states[:, :, :, :1], self.p, backend=backend)
        with pytest.raises(ValueError, match=r"^diffusion_extend: k: expected \[B = 2, Hk, M >= 5, D = 4\], "
                                             r"got \[2, 3, 3, 4\]$"):
            longspan.diffusion_extend(self.x, new, self.x, self.c, states, self.p, backend=backend)
        with pytest.raises(ValueError, match=r"^diffusion_extend: positions: expected \[M = 5\], got \[3\]$"):
            longspan.diffusion_extend(new, self.x, new, self.c, states, self.p, positions=torch.arange(3),
                                      backend=backend)

    def test_global_tokens_with_fractions(self):
        with pytest.raises(ValueError, match=r"^pattern: global_tokens: expected int64 \[G\] on the CPU, got float32"):
            longspan.pattern("global", 50, global_tokens=[1.7])
        assert torch.equal(longspan.pattern("global", 50, global_tokens=torch.tensor([1], dtype=torch.int32)),
                           longspan.pattern("global", 50, global_tokens=[1]))
        longspan.pattern("global", 50, global_tokens=[])

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_a_stream_with_a_pattern_without_values(self, backend):
        new, states = self.x[:, :, :3], torch.zeros(2, 3, 1, 2, 4)
        with pytest.raises(ValueError, match=r"^diffusion_extend: patterns: expected int32 .* on meta$"):
            longspan.diffusion_extend(new, self.x, new, self.c, states, self.p.to("meta"), backend=backend)

    @pytest.mark.parametrize("given, message", [
        ({"kind": "pagerank"},
         r"kind: expected ppr_iterate, ppr_truncated, heat, single or learned, got pagerank"),
        ({"kind": "heat", "hops": -1}, r"hops: expected a number from 0 to 1048576, got -1"),
        ({"kind": "ppr_iterate", "hops": 10**12}, r"hops: expected a number from 0 to 1048576, got 1000000000000"),
        ({"kind": "ppr_iterate", "alpha": 1.5}, r"alpha: expected numbers from 0 to 1, got 1.5"),
        ({"kind": "heat", "t": -1.0}, r"t: expected finite numbers of 0 or more, got -1"),
        ({"kind": "heat", "t": float("inf")}, r"t: expected finite numbers of 0 or more, got inf"),
        ({"kind": "heat", "t": float("nan")}, r"t: expected finite numbers of 0 or more, got nan"),
        ({"kind": "heat", "alpha": 0.1}, r"alpha: expected none but for the ppr kinds, got one"),
        ({"kind": "learned"}, r"logits: expected for learned, got none"),
        ({"kind": "learned", "hops": 2, "logits": torch.zeros(1, 2)},
         r"logits: expected \[H, K \+ 1 = 3\] or \[1, K \+ 1\], got \[1, 2\]"),
    ])
    def test_coefficients(self, given, message):
        with pytest.raises(ValueError, match="^diffusion_coefficients: " + message + "$"):
            longspan.diffusion_coefficients(**given)


@pytest.mark.parametrize("shape", [(0, 2, 5, 4), (2, 0, 5, 4), (2, 2, 0, 4)], ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
def test_empty(shape, backend):
    x = torch.randn(shape, requires_grad=True)
    coefficients = longspan.diffusion_coefficients("ppr_iterate", 2).float().requires_grad_()
    out = longspan.diffusion(x, x, x, coefficients, longspan.pattern("window_band", shape[2], k=1), backend=backend)
    assert out.shape == shape
    out.sum().backward()
    assert x.grad.shape == shape and torch.equal(coefficients.grad, torch.zeros_like(coefficients))
