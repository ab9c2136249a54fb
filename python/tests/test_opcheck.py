"""torch.library.opcheck on every operator; an operator without cases fails."""

import pytest
import torch

import cases

FORWARD = [name for name in cases.OPERATORS if not name.endswith("_backward")]
BACKWARD = [name for name in cases.OPERATORS if name.endswith("_backward")]


def test_every_operator_has_cases():
    names = torch._C._dispatch_get_all_op_names()
    registered = {name.split("::")[1] for name in names if name.startswith("longspan::")}
    assert registered == set(cases.OPERATORS) | set(cases.PLAIN) | cases.UNTRACED


@pytest.mark.parametrize("name, case", cases.every(FORWARD), ids=cases.label)
def test_forward(name, case):
    case = case.with_grad()
    torch.library.opcheck(cases.operator(name), case.args, case.kwargs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", FORWARD)
def test_other_dtypes(name, dtype):
    """What may differ by dtype: shapes, dtypes and layouts of the results, and that no input is written to."""
    for case in cases.OPERATORS[name](dtype):
        torch.library.opcheck(cases.operator(name), case.args, case.kwargs,
                              test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("name", cases.PLAIN)
def test_plain(name):
    for case in cases.PLAIN[name]():
        case = case.with_grad()
        torch.library.opcheck(cases.operator(name), case.args, case.kwargs)


# Tracing the scan of delta_memory takes a minute a case: one from the beginning and one from a state are traced, packs
# are checked without.
DELTA = {"slot decay", "over a border", "packed"}
UNTRACED = ("test_schema", "test_autograd_registration", "test_faketensor")


def check(name, case, traced):
    torch.library.opcheck(cases.operator(name), case.args, case.kwargs, **({} if traced else {"test_utils": UNTRACED}))


# Without those that are the first result of the operator named *_forward.
@pytest.mark.parametrize("name, case", [
    (name, case) for name, case in cases.every([n for n in FORWARD if n + "_forward" not in FORWARD])
    if not name.startswith("delta") or case.name in DELTA], ids=cases.label)
def test_composed(name, case):
    check(name, case.with_grad().having(backend="composed"), not name.startswith("delta") or case.name != "packed")


@pytest.mark.parametrize("name", [n for n in FORWARD if not n.startswith("delta") or n.endswith("_forward")])
def test_reference(name):
    for case in cases.OPERATORS[name]():
        if "packed" in case.name or "dropout" in case.kwargs:
            continue  # the reference reads borders and seed on the host, and a traced tensor has no value
        check(name, case.with_grad().having(backend="reference"), not name.startswith("delta") or case.name in DELTA)


@pytest.mark.parametrize("name", BACKWARD)
def test_backward(name):
    # The second derivative is refused, so only the registration check may see inputs that require gradients.
    for case in cases.OPERATORS[name]():
        torch.library.opcheck(cases.operator(name), case.args, case.kwargs,
                              test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"))
        case = case.with_grad()
        torch.library.opcheck(cases.operator(name), case.args, case.kwargs, test_utils="test_autograd_registration")
