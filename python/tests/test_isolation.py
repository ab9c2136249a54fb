"""What is not finite: it reaches the rows whose windows hold it, and no other, in every form of an operator."""

import pytest
import torch

import cases

ops = torch.ops.longspan
FORMS = ["kernel", "composed", "reference"]
WINDOWS = [(3, 0), (2, 5), (0, 0), (40, 1)]
LENGTH = 75  # more than one block of the composed form, and than one tile of the kernel
PLACES = ["q", "k", "v", "dout"]


def operands(n=LENGTH, h=2, hk=2, left=3, right=0):
    x = cases.Inputs(31)
    return {"q": x(1, h, n, 4), "k": x(1, hk, n, 4), "v": x(1, hk, n, 3), "table": x(h, 2 * max(left, right) + 1),
            "dout": x(1, h, n, 3)}


def attend(form, t, left, right, cu=None):
    """out, lse and the gradients of q, k, v and table, by name."""
    leaves = [t[name].detach().clone().requires_grad_() for name in ("q", "k", "v", "table")]
    out, lse = ops.local_attention_forward(*leaves, left, right, None, cu, backend=form)
    gradients = torch.autograd.grad(out, leaves, t["dout"])
    return dict(zip(("out", "lse", "dq", "dk", "dv", "dtable"), (out.detach(), lse, *gradients)))


def same_where_finite(results):
    """All forms are finite in the same places."""
    first = results[FORMS[0]]
    for form in FORMS[1:]:
        for name, value in results[form].items():
            assert torch.equal(value.isfinite(), first[name].isfinite()), (form, name)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf], ids=str)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("left, right", WINDOWS)
@pytest.mark.parametrize("hk", [1, 2])
def test_only_the_window_sees_it(value, place, left, right, hk):
    clean = operands(hk=hk, left=left, right=right)
    dirty = {name: t.clone() for name, t in clean.items()}
    at = 37
    dirty[place][0, :, at, 1] = value
    row = torch.arange(LENGTH)
    queries = (row == at) if place in ("q", "dout") else (at - row >= -left) & (at - row <= right)
    keys = torch.tensor([bool((queries & (j - row >= -left) & (j - row <= right)).any()) for j in range(LENGTH)])
    results = {}
    for form in FORMS:
        before, after = attend(form, clean, left, right), attend(form, dirty, left, right)
        for name in ("out", "lse", "dq"):
            assert torch.equal(before[name][:, :, ~queries], after[name][:, :, ~queries]), (form, name)
        for name in ("dk", "dv"):
            assert torch.equal(before[name][:, :, ~keys], after[name][:, :, ~keys]), (form, name)
        results[form] = after
        assert not all(t.isfinite().all() for t in after.values()), form
    same_where_finite(results)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [torch.nan, torch.inf], ids=str)
def test_another_sequence_and_an_unseen_block(form, value):
    """Everything of the neighbours in a pack, and whole blocks that no query of the sequence sees."""
    n, cu = 200, torch.tensor([0, 50, 51, 150, 200])
    clean = operands(n, left=5, right=2)
    dirty = {name: t.clone() for name, t in clean.items()}
    for name in PLACES:
        dirty[name][:, :, :51] = dirty[name][:, :, 150:] = value
    before, after = attend(form, clean, 5, 2, cu), attend(form, dirty, 5, 2, cu)
    for name in ("out", "lse", "dq", "dk", "dv"):
        assert torch.equal(before[name][:, :, 51:150], after[name][:, :, 51:150]), name


def test_a_row_without_a_finite_score():
    """It gives 0, and no gradient, whatever its values are; its neighbours go on."""
    t = operands(left=3)
    t["q"] = t["q"].abs() + 0.1
    t["k"][:, :, 20:45] = -torch.inf
    t["v"][0, 0, 30] = torch.nan  # seen by rows without a score alone
    empty = slice(23, 45)  # of all their keys
    results = {form: attend(form, t, 3, 0) for form in FORMS}
    for form, r in results.items():
        for name in ("out", "dq"):
            assert torch.equal(r[name][:, :, empty], torch.zeros_like(r[name][:, :, empty])), (form, name)
        assert (r["lse"][:, :, empty] == -torch.inf).all(), form
        assert r["out"].isfinite().all() and r["dk"].isfinite().all() and r["dv"].isfinite().all(), form
        assert torch.equal(r["dv"][:, :, 23:42], torch.zeros_like(r["dv"][:, :, 23:42])), form
    same_where_finite(results)


@pytest.mark.parametrize("place", ["v", "dout"])
def test_a_table_without_a_finite_score(place):
    """The table alone leaves head 0 without a score; what else is not finite there does not matter."""
    t = operands(left=3)
    t["table"][0] = -torch.inf
    t[place][0, 0, 5:60] = torch.nan
    results = {form: attend(form, t, 3, 0) for form in FORMS}
    for form, r in results.items():
        for name in ("out", "dq", "dk", "dv"):
            assert torch.equal(r[name][:, 0], torch.zeros_like(r[name][:, 0])), (form, name)
            assert r[name][:, 1].isfinite().all(), (form, name)
        assert torch.equal(r["dtable"][0], torch.zeros(7, dtype=torch.float64)), form
    same_where_finite(results)


def remember(form, t, kind, **options):
    leaves = [t[name].detach().clone().requires_grad_() for name in ("q", "m")]
    out = ops.orthogonal_memory(*leaves, t["basis"], kind, backend=form, **options)
    return dict(zip(("out", "dq", "dm"), (out.detach(), *torch.autograd.grad(out, leaves, t["dout"]))))


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf], ids=str)
@pytest.mark.parametrize("place", ["q", "m", "dout"])
@pytest.mark.parametrize("kind, window", [("causal", 0), ("causal", 16), ("causal", 100), ("full", 0)])
def test_only_readers_of_the_memory_see_it(value, place, kind, window):
    n, at = 600, 310
    x = cases.Inputs(32)
    clean = {"q": x(1, 2, n, 4), "m": x(1, 2, n, 4), "dout": x(1, 2, n, 4), "basis": x.basis(2, 3, 4)}
    dirty = {name: t.clone() for name, t in clean.items()}
    dirty[place][0, :, at, 2] = value
    row = torch.arange(n)
    last = row if kind == "causal" else torch.full([n], n - 1)  # the last feature that a row reads
    if window:
        last = row // window * window - 1
    readers = (row == at) if place != "m" else last >= at
    features = torch.tensor([bool((readers & (last >= j)).any()) for j in range(n)])
    results = {}
    for form in FORMS:
        before, after = (remember(form, t, kind, **({"window": window} if window else {})) for t in (clean, dirty))
        for name in ("out", "dq"):
            assert torch.equal(before[name][:, :, ~readers], after[name][:, :, ~readers]), (form, name)
        assert torch.equal(before["dm"][:, :, ~features], after["dm"][:, :, ~features]), form
        results[form] = after
        assert not all(t.isfinite().all() for t in after.values()), form
    same_where_finite(results)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind, window", [("causal", 0), ("causal", 30), ("full", 0)])
def test_the_memory_of_another_sequence(form, kind, window):
    n, cu = 700, torch.tensor([0, 11, 11, 400, 700])
    x = cases.Inputs(33)
    clean = {"q": x(1, 2, n, 4), "m": x(1, 2, n, 4), "dout": x(1, 2, n, 4), "basis": x.basis(2, 3, 4)}
    dirty = {name: t.clone() for name, t in clean.items()}
    for name in ("q", "m", "dout"):
        dirty[name][:, :, :11], dirty[name][:, :, 400:] = torch.nan, torch.inf
    before, after = (remember(form, t, kind, cu_seqlens=cu, window=window) for t in (clean, dirty))
    for name in before:
        assert torch.equal(before[name][:, :, 11:400], after[name][:, :, 11:400]), name


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("window", [0, 16])
def test_a_stream_at_the_last_position(form, window):
    """The last count that fits; test_behaviour has the first that does not."""
    x = cases.Inputs(34)
    count = torch.tensor([2 ** 63 - 1 - 5])
    sums = [x(1, 2, 3).double() for _ in range(2)]
    visible = {"visible": x(1, 2, 3).double(), "window": window} if window else {}
    out, _, _, after, _ = ops.orthogonal_memory_extend(x(1, 2, 5, 4), x(1, 2, 5, 4), x.basis(2, 3, 4), *sums, count,
                                                       backend=form, **visible)
    assert out.isfinite().all() and after.item() == 2 ** 63 - 1
