import longspan  # noqa: F401  (registers the operators before test modules build their cases)
