"""Gradients: central differences in float64, the composed form, what is refused."""

import pytest
import torch

import cases

DIFFERENTIABLE = ["local_attention", "orthogonal_memory", "orthogonal_memory_extend"]


def as_function(name, case):
    """A function of the differentiable inputs alone, without the integer results."""
    case = case.with_grad()
    inputs = case.tensors()

    def function(*tensors):
        left = iter(tensors)
        args = [next(left) if torch.is_tensor(a) and a.is_floating_point() else a for a in case.args]
        results = cases.operator(name)(*args)
        if torch.is_tensor(results):
            return results
        return tuple(r for r in results if r.requires_grad)

    return function, inputs


@pytest.mark.parametrize("name, case", cases.every(DIFFERENTIABLE), ids=cases.label)
def test_central_differences(name, case):
    function, inputs = as_function(name, case)
    assert torch.autograd.gradcheck(function, inputs)


@pytest.mark.parametrize("name, case", cases.every(DIFFERENTIABLE), ids=cases.label)
def test_second_derivative_is_refused(name, case):
    function, inputs = as_function(name, case)
    results = function(*inputs)
    results = (results,) if torch.is_tensor(results) else results
    total = sum((r * r).sum() for r in results)
    first = torch.autograd.grad(total, inputs, create_graph=True)
    with pytest.raises(NotImplementedError, match=f"{name}: expected one derivative, got a second one"):
        torch.autograd.grad(sum(g.sum() for g in first), inputs)


@pytest.mark.parametrize("name, case", cases.every(DIFFERENTIABLE), ids=cases.label)
def test_inputs_that_need_no_gradient(name, case):
    """Each input alone gets the gradient that it gets together with the others."""
    function, inputs = as_function(name, case)

    def gradients(wanted):
        fresh = [t.detach().clone().requires_grad_(i in wanted) for i, t in enumerate(inputs)]
        results = function(*fresh)
        results = (results,) if torch.is_tensor(results) else results
        total = sum((r * r).sum() for r in results)
        return torch.autograd.grad(total, [fresh[i] for i in wanted])

    together = gradients(range(len(inputs)))
    for i in range(len(inputs)):
        assert torch.equal(gradients([i])[0], together[i])


def test_undefined_gradients():
    """A result that the loss does not use brings no gradient, and none of its own."""
    case = cases.orthogonal_memory_extend()[1].with_grad()
    q, m, basis, closed, open = case.tensors()
    out, closed_out, open_out, count_out, visible_out = torch.ops.longspan.orthogonal_memory_extend(*case.args)
    assert not count_out.requires_grad and not visible_out.requires_grad
    only_out = torch.autograd.grad(out.sum(), (q, m, basis, closed, open), retain_graph=True)
    both = torch.autograd.grad(out.sum() + 0 * closed_out.sum() + 0 * open_out.sum(), (q, m, basis, closed, open),
                               retain_graph=True)
    for a, b in zip(only_out, both):
        assert torch.equal(a, b)
    # The sums do not depend on the queries.
    dq, dm, dbasis = torch.autograd.grad(closed_out.sum() + open_out.sum(), (q, m, basis))
    assert torch.equal(dq, torch.zeros_like(q)) and dm.abs().sum() > 0 and dbasis.abs().sum() > 0

    case = cases.local_attention()[0].with_grad()
    out, lse = torch.ops.longspan.local_attention_forward(*case.args)
    assert out.requires_grad and not lse.requires_grad


def test_composed_form_is_twice_differentiable():
    x = cases.Inputs(7)
    q, k, v, table = x(1, 2, 4, 2), x(1, 2, 4, 2), x(1, 2, 4, 2), x(1, 5)
    basis, closed, open = x.basis(2, 2, 2), x(1, 2, 2), x(1, 2, 2)
    functions = [
        (lambda *t: torch.ops.longspan.local_attention(*t, 2, 1, backend="reference"), (q, k, v, table)),
        (lambda *t: torch.ops.longspan.orthogonal_memory(*t, "causal", backend="reference"), (q, v, basis)),
        (lambda *t: torch.ops.longspan.orthogonal_memory_extend(*t, torch.tensor([254]), backend="reference")[:3],
         (q, v, basis, closed, open)),
    ]
    for function, inputs in functions:
        assert torch.autograd.gradgradcheck(function, [t.detach().requires_grad_() for t in inputs])
