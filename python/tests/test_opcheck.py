"""torch.library.opcheck on every operator; an operator without cases fails."""

import pytest
import torch

import cases

FORWARD = [name for name in cases.OPERATORS if not name.endswith("_backward")]
BACKWARD = [name for name in cases.OPERATORS if name.endswith("_backward")]


def test_every_operator_has_cases():
    registered = {name.split("::")[1] for name in torch._C._dispatch_get_all_op_names() if name.startswith("longspan::")}
    assert registered == set(cases.OPERATORS)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("name", FORWARD)
def test_forward(name, dtype):
    for case in cases.OPERATORS[name](dtype):
        torch.library.opcheck(cases.operator(name), case.with_grad().args)


@pytest.mark.parametrize("name", FORWARD)
def test_reference_backend(name):
    for case in cases.OPERATORS[name]():
        if "packed" in case.name:
            continue  # the composed form reads the borders' values, which a traced tensor does not have
        torch.library.opcheck(cases.operator(name), case.with_grad().args, {"backend": "reference"})


@pytest.mark.parametrize("name", BACKWARD)
def test_backward(name):
    # The second derivative is refused, so only the registration check may see inputs that require gradients.
    for case in cases.OPERATORS[name]():
        torch.library.opcheck(cases.operator(name), case.args,
                              test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"))
        torch.library.opcheck(cases.operator(name), case.with_grad().args, test_utils="test_autograd_registration")
