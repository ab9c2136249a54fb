"""Gradients: central differences in float64, the composed form, what is refused."""

import dataclasses

import pytest
import torch

import cases
import longspan

DIFFERENTIABLE = ["delta_memory", "delta_memory_extend", "diffusion", "diffusion_extend", "local_attention",
                  "orthogonal_memory", "orthogonal_memory_extend"]


def as_function(name, case):
    """A function of the differentiable inputs alone, without the integer results."""
    case = case.with_grad()
    inputs = case.tensors()

    def function(*tensors):
        left = iter(tensors)

        def put(a):
            return next(left) if torch.is_tensor(a) and a.is_floating_point() else a

        given = dataclasses.replace(case, args=tuple(map(put, case.args)),
                                    kwargs={key: put(a) for key, a in case.kwargs.items()})
        return tuple(r for r in cases.run(name, given) if r.requires_grad)

    return function, inputs


@pytest.mark.parametrize("backend", ["auto", "composed"])
@pytest.mark.parametrize("name, case", [c for c in cases.every(DIFFERENTIABLE) if c[1].exact], ids=cases.label)
def test_central_differences(name, case, backend):
    function, inputs = as_function(name, case.having(backend=backend))
    assert torch.autograd.gradcheck(function, inputs)


@pytest.mark.parametrize("name, case", cases.every(DIFFERENTIABLE), ids=cases.label)
def test_second_derivative_is_refused(name, case):
    function, inputs = as_function(name, case)
    total = sum((r * r).sum() for r in function(*inputs))
    first = torch.autograd.grad(total, inputs, create_graph=True)
    with pytest.raises(NotImplementedError, match=f"{name}: expected one derivative, got a second one"):
        torch.autograd.grad(sum(g.sum() for g in first), inputs)


@pytest.mark.parametrize("name, case", cases.every(DIFFERENTIABLE), ids=cases.label)
def test_inputs_that_need_no_gradient(name, case):
    """Each input alone gets the gradient that it gets together with the others."""
    function, inputs = as_function(name, case)

    def gradients(wanted):
        fresh = [t.detach().clone().requires_grad_(i in wanted) for i, t in enumerate(inputs)]
        total = sum((r * r).sum() for r in function(*fresh))
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


@pytest.mark.parametrize("backend", ["composed", "reference"])
def test_twice_differentiable(backend):
    x = cases.Inputs(7)
    q, k, v, table = x(1, 2, 4, 2), x(1, 2, 4, 2), x(1, 2, 4, 2), x(1, 5)
    basis, closed, open = x.basis(2, 2, 2), x(1, 2, 2), x(1, 2, 2)
    pattern = longspan.pattern("window_band+global+random", 4, k=1, g=1, r=1)
    causal = longspan.pattern("window_band+random", 6, k=1, r=1, causal=True)
    slots = x(1, 2, 4, 2).abs().neg()  # log alpha
    rows, position = (x(1, 2, 16, 2), x(1, 2, 16, 2), x(1, 2, 16, 2).abs().neg()), torch.tensor([14])
    functions = [
        (lambda *t: torch.ops.longspan.delta_memory(*t, backend=backend),
         (q, k, v, k[..., 0].sigmoid(), slots, basis[None])),
        (lambda *t: torch.ops.longspan.delta_memory(*t, delta=False, backend=backend),
         (q, k, v, x(1, 2, 4), x(1, 2, 4).abs().neg())),
        (lambda *t: torch.ops.longspan.delta_memory_extend(*t, position, backend=backend)[:5],
         (q, k, v, k[..., 0].sigmoid(), slots, basis[None], *rows)),
        (lambda *t: torch.ops.longspan.diffusion(*t, [pattern], backend=backend), (q, k, v, x(1, 5))),
        (lambda *t: torch.ops.longspan.diffusion_extend(*t, [causal], backend=backend)[:2],
         (q, x(1, 2, 6, 2), v, x(2, 5), x(1, 2, 2, 2, 2))),
        (lambda *t: torch.ops.longspan.local_attention(*t, 2, 1, backend=backend), (q, k, v, table)),
        (lambda *t: torch.ops.longspan.orthogonal_memory(*t, "causal", backend=backend), (q, v, basis)),
        (lambda *t: torch.ops.longspan.orthogonal_memory_extend(*t, torch.tensor([254]), backend=backend)[:3],
         (q, v, basis, closed, open)),
    ]
    for function, inputs in functions:
        assert torch.autograd.gradgradcheck(function, [t.detach().requires_grad_() for t in inputs])
