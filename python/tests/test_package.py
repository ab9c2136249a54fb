"""What stands around the operators: the version, the module that the README shows, seeds."""

import pathlib
import re

import pytest
import torch

import longspan

ROOT = pathlib.Path(__file__).resolve().parents[2]


def readme_module(name="Lavo"):
    """The class of that name as python/README.md has it."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "python/README.md").read_text(), re.S)
    code, = [block for block in blocks if "class " + name in block]
    names = {"torch": torch, "longspan": longspan}
    exec(code, names)  # it ends with a step of training
    return names


def test_version():
    project = re.search(r"project\(longspan VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert longspan.__version__ == project[1]


def test_the_module_of_the_readme_is_lavo():
    """Its output is that of the method's definition, position by position, in float64."""
    torch.manual_seed(3)
    width, heads, r, w, n = 24, 3, 4, 5, 17
    module = readme_module()["Lavo"](width, heads, r=r, w=w).double()
    assert module.table.shape == (heads, 2 * w - 1)
    x = torch.randn(2, n, width, dtype=torch.float64)
    q, k, v = module.qkv(x).unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    d = width // heads
    out = torch.empty_like(q)
    for h in range(heads):
        features = []
        for t in range(n):
            keys = range(max(0, t - w + 1), t + 1)
            scores = torch.stack([(q[:, h, t] * k[:, h, j]).sum(-1) / d ** 0.5 + module.table[h, j - t + w - 1] for j in keys])
            weights = scores.softmax(0)
            local = sum(weight[:, None] * v[:, h, j] for weight, j in zip(weights, keys))
            features.append(local)
            slots = torch.stack(features).mean(0) @ module.basis[h].T  # [2, r]
            reading = (slots * (q[:, h, t] @ module.basis[h].T)).softmax(-1)
            out[:, h, t] = (local + (reading * slots) @ module.basis[h]) / 2
    expected = module.out(out.transpose(1, 2).flatten(-2))
    # Sums of at most n d terms of size 1, in another order.
    assert (module(x) - expected).abs().max() < 8 * n * d * 2.0 ** -52


def test_the_diffuser_of_the_readme_diffuses():
    """Its output is that of the iteration over a dense matrix, in float64."""
    torch.manual_seed(4)
    width, heads, n, hops, alpha, k_band = 24, 3, 17, 3, 0.25, 2  # alpha is exact in float32
    module = readme_module("Diffuser")["Diffuser"](width, heads, "window_band", hops, alpha, k=k_band).double()
    x = torch.randn(2, n, width, dtype=torch.float64)
    q, k, v = module.qkv(x).unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    place = torch.arange(n)
    far = (place[:, None] - place).abs() > k_band
    weights = (q @ k.mT / (width // heads) ** 0.5).masked_fill(far, -torch.inf).softmax(-1)
    z = v
    for _ in range(hops):
        z = (1 - alpha) * weights @ z + alpha * v
    expected = module.out(z.transpose(1, 2).flatten(-2))
    # Each hop and each projection adds terms of size 1: at most n + width of them, in another order.
    assert (module(x) - expected).abs().max() < 8 * (hops * n + 2 * width) * 2.0 ** -52


def test_the_module_of_the_readme_stays_orthogonal():
    names = readme_module()
    basis = names["layer"].basis.detach().double()
    assert names["loss"].isfinite()
    gram = basis @ basis.mT
    # The rows are rounded to float32: each product errs by its 2 d rounded factors of size <= 1.
    assert (gram - torch.eye(basis.shape[1])).abs().max() < 2 * basis.shape[-1] * 2.0 ** -24


def test_a_seed_may_be_a_number():
    q = torch.randn(1, 2, 40, 8)
    basis = torch.linalg.qr(torch.randn(2, 8, 4)).Q.mT.contiguous()

    def run(seed):
        return (longspan.local_attention(q, q, q, reach_left=4, reach_right=0, dropout=0.3, dropout_seed=seed),
                longspan.orthogonal_memory(q, q, basis, "causal", dropout=0.3, dropout_seed=seed))

    for number, tensor in zip(run(7), run(torch.tensor(7))):
        assert torch.equal(number, tensor)
    for wrong in [True, 0.5, "7", 2 ** 63]:
        with pytest.raises(ValueError, match="dropout_seed: expected"):
            run(wrong)
