"""Says whether this interpreter can serve the build: exit status 0, or 1 with one line that tells why not.

`--tests` asks for the modules of the Python tests too.
"""

import importlib.util
import pathlib
import sys

MINIMUM_PYTHON = (3, 10)
MINIMUM_TORCH = (2, 11)
TEST_MODULES = ("numpy", "expecttest", "hypothesis", "pytest", "xdist")


def reason_against(with_tests):
    if sys.version_info < MINIMUM_PYTHON:
        return "Python %d.%d or newer is needed, this is %d.%d" % (*MINIMUM_PYTHON, *sys.version_info[:2])
    spec = importlib.util.find_spec("torch")
    if spec is None:
        return "it has no torch"
    try:
        import torch
    except Exception as error:  # a broken installation may raise anything
        return "its torch does not load: %s" % str(error).splitlines()[0]
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < MINIMUM_TORCH:
        return "torch %d.%d or newer is needed, it has %s" % (*MINIMUM_TORCH, torch.__version__)
    if not (pathlib.Path(torch.__file__).parent / "share/cmake/Torch/TorchConfig.cmake").is_file():
        return "its torch %s was installed without the C++ part (TorchConfig.cmake)" % torch.__version__
    if with_tests:
        missing = [name for name in TEST_MODULES if importlib.util.find_spec(name) is None]
        if missing:
            return "it lacks the modules of the tests: pip install %s" % " ".join(name.replace("xdist", "pytest-xdist") for name in missing)
    return None


def main():
    reason = reason_against("--tests" in sys.argv[1:])
    if reason:
        print(reason)
        return 1
    import torch

    print("torch %s" % torch.__version__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
