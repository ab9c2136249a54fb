#!/usr/bin/env bash
# Runs every test of build/: ctest, then the Python tests.
source "$(dirname "$0")/lib.sh"

jobs=${JOBS:-$(nproc)}
python=$(cat "$state/python")
say "running the tests with ctest"
ctest --test-dir build --output-on-failure --no-tests=error --label-exclude python -j "$jobs"
say "running the Python tests with pytest"
export OMP_WAIT_POLICY=PASSIVE  # the processes share the cores
LONGSPAN_LIBRARY=$PWD/build/lib/liblongspan.so PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 \
  "$python" -m pytest -q -p no:cacheprovider -n "$jobs" --dist worksteal python/tests
