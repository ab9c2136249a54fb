"""Pages that the program writes, looked at with headless Chromium where it is installed."""

import atexit
import functools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import screenshots  # noqa: E402


@functools.cache
def browser():
    """One for all tests of a process."""
    opened = screenshots.Browser()
    atexit.register(opened.__exit__)
    return opened


def available():
    return screenshots.chromium() is not None


def look_at(test, page):
    """Every view of screenshots.VIEWS must be without faults."""
    for view in screenshots.VIEWS:
        with test.subTest(view.name):
            test.assertEqual(screenshots.faults(browser(), page, view), [])
            picture = browser().screenshot()
            test.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
            test.assertGreater(len(picture), 20000, "a page that is drawn")
