"""Golden values of the LAVO mathematics (docs/ops), known to ten decimals."""

import math

import pytest
import torch

ops = torch.ops.longspan
BOUND = 0.5e-10 + 1e-14  # half a unit of the last digit given, and float64 roundings


def wave(n, d, a, b, e):
    t, c = torch.arange(n, dtype=torch.float64)[:, None], torch.arange(d, dtype=torch.float64)[None]
    return torch.sin(a * t + b * c + e)


def four(matrix):
    return matrix[None, None]


def assert_golden(actual, rows):
    expected = torch.tensor(rows, dtype=torch.float64)
    assert actual.shape[-2:] == expected.shape
    assert (actual[0, 0] - expected).abs().max() <= BOUND


@pytest.fixture
def memory():
    t, c = torch.arange(4, dtype=torch.float64)[:, None], torch.arange(3, dtype=torch.float64)[None]
    basis = torch.tensor([[1 / math.sqrt(2), 1 / math.sqrt(2), 0], [0, 0, 1]], dtype=torch.float64)[None]
    return four(torch.cos(0.4 * t - 0.9 * c)), four(wave(4, 3, 0.7, 1.3, 0.5)), basis


@pytest.mark.parametrize("backend", ["kernel", "composed", "reference"])
def test_g1_causal(memory, backend):
    assert_golden(ops.orthogonal_memory(*memory, "causal", backend=backend),
                  [[0.5568519131, 0.5568519131, 0.0097156670], [0.5972171595, 0.5972171595, -0.0568517805],
                   [0.5145788870, 0.5145788870, -0.1045057366], [0.3478932638, 0.3478932638, -0.1505471557]])


@pytest.mark.parametrize("backend", ["kernel", "composed", "reference"])
def test_g1_full(memory, backend):
    assert_golden(ops.orthogonal_memory(*memory, "full", backend=backend),
                  [[0.2998159875, 0.2998159875, -0.2137395738], [0.3320715020, 0.3320715020, -0.1713431630],
                   [0.3478681963, 0.3478681963, -0.1505801043], [0.3478932638, 0.3478932638, -0.1505471557]])


def lavo(form, backend, window=0, blocks=False):
    """blocks: the features are aggregated over the whole window of a position (block_bidirectional)."""
    q, k, v = (four(wave(6, 2, *abe)) for abe in ((0.7, 1.3, 0.5), (0.3, -0.8, 0.2), (1.1, 0.6, -0.4)))
    table = torch.tensor([[0.05, -0.1, 0.2, 0.15, -0.25]], dtype=torch.float64)
    c, s = math.cos(0.3), math.sin(0.3)
    basis = torch.tensor([[[c, s], [-s, c]]], dtype=torch.float64)
    local = ops.local_attention(q, k, v, table, 2, 0 if form == "causal" else 2, backend=backend)
    features = local
    if blocks:
        features = ops.local_attention(q, k, v, table, 2, 2, None, torch.tensor([0, 3, 6]), backend=backend)
    return local, (local + ops.orthogonal_memory(q, features, basis, form, window=window, backend=backend)) / 2


@pytest.mark.parametrize("backend", ["kernel", "composed", "reference"])
def test_g2_causal(backend):
    local, both = lavo("causal", backend)
    assert_golden(local, [[-0.3894183423, 0.1986693308], [0.2777000446, 0.6923357707], [0.5054287070, 0.6256752791],
                          [0.5939196679, 0.4096138303], [0.2307683026, -0.1303786452], [-0.4176031578, -0.5940714004]])
    assert_golden(both, [[-0.2798912964, 0.1713341312], [0.1236670843, 0.4599106618], [0.3046065017, 0.4225978576],
                         [0.3834536418, 0.3117653422], [0.1810535122, 0.0227386176], [-0.1780589422, -0.2459015965]])


@pytest.mark.parametrize("backend", ["kernel", "composed", "reference"])
def test_g2_window(backend):
    first = [[-0.1947091712, 0.0993346654], [0.1388500223, 0.3461678854], [0.2527143535, 0.3128376395]]
    assert_golden(lavo("causal", backend, window=3)[1],
                  [*first, [0.3510370636, 0.3126629463], [0.1618317641, 0.0493155299], [-0.1766033786, -0.1701132128]])
    assert_golden(lavo("causal", backend, window=3, blocks=True)[1],
                  [*first, [0.4812381849, 0.3501551696], [0.2558686197, 0.0937944514], [-0.1187179555, -0.1223592846]])


@pytest.mark.parametrize("backend", ["kernel", "composed", "reference"])
def test_g2_noncausal(backend):
    assert_golden(lavo("full", backend)[1],
                  [[0.2612684517, 0.3340910878], [0.2848168038, 0.2126761286], [0.1402453282, 0.0508249730],
                   [0.0986297827, 0.0126304023], [0.0329604288, -0.0951838788], [-0.1759649663, -0.2849933857]])


@pytest.mark.parametrize("backend", ["kernel", "composed", "reference"])
def test_mean_collision(backend):
    """Contexts of one mean cannot be told apart by the last query, and their first rows can."""
    basis = torch.eye(2, dtype=torch.float64)[None]
    q = four(torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=torch.float64))
    spread = four(torch.tensor([[2.0, 0.0], [0.0, 2.0]], dtype=torch.float64))
    flat = four(torch.ones(2, 2, dtype=torch.float64))
    for m in (spread, flat):
        assert_golden(ops.orthogonal_memory(q, m, basis, "full", backend=backend),
                      [[0.7310585786, 0.2689414214]] * 2)
    assert_golden(ops.orthogonal_memory(q, spread, basis, "causal", backend=backend),
                  [[1.7615941560, 0.0], [0.7310585786, 0.2689414214]])
