"""The numbers that labels_test.cc expects, from scikit-learn: python tests/metrics/golden_labels.py (scikit-learn 1.9.1)."""

from sklearn.metrics import accuracy_score, f1_score

LABELS = 8  # 6 is predicted alone, 7 nowhere


def one(i):
    """Expected and predicted label of example i."""
    return i * i % 7 % 5, (6 if i == 11 else i * i % 7 % 5 if i % 3 else (i + 2) % 4)


def several(i):
    """The same of several labels, as columns; example 4 has none."""
    expected = [int(i != 4 and (i + 1) * (j + 2) % 5 < 2 and j < 5) for j in range(LABELS)]
    return expected, [int(value if (i + j) % 4 else (i * j + 1) % 2 and j < 7) for j, value in enumerate(expected)]


def row(name, truth, said, **options):
    values = [f1_score(truth, said, average="macro", zero_division=z, **options) for z in (float("nan"), 0.0, 1.0)]
    micro = f1_score(truth, said, average="micro", zero_division=0.0, **options)
    numbers = ", ".join(repr(float(v)) for v in [accuracy_score(truth, said), micro, *values])
    print("const Golden %s = {%s};" % (name, numbers))


if __name__ == "__main__":
    truth, said = zip(*map(one, range(40)))
    row("kOne", truth, said, labels=list(range(LABELS)))
    print("// without labels=: %r" % float(f1_score(truth, said, average="macro")))
    truth, said = map(list, zip(*map(several, range(30))))
    row("kSeveral", truth, said)
