"""The pages that the program writes, as headless Chromium shows them: on a phone and on a desk, in light and in dark."""

import pathlib
import tempfile
import unittest

import harness
import pages
from pages import screenshots


@unittest.skipUnless(pages.available(), "chromium is not installed")
class FaultsTest(unittest.TestCase):
    """That the checks see what they are there for."""

    BODY = "<p>one</p>" * 12

    def faults(self, html, view=screenshots.VIEWS[0]):
        path = pathlib.Path(self.folder.name, "page.html")
        path.write_text("<!DOCTYPE html><title>t</title><meta name=viewport content='width=device-width'>" + html)
        return screenshots.faults(pages.browser(), path, view, charts=False)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_a_good_page_has_none(self):
        self.assertEqual(self.faults(self.BODY), [])

    def test_what_they_see(self):
        dark = screenshots.View("dark", 360, 800, dark=True, phone=True)
        for html, view, expected in [
                ("<div style='width: 500px'>wide</div>", screenshots.VIEWS[0], "the page is 508 wide in a window of 360"),
                ("<p style='color: #999'>pale</p>", screenshots.VIEWS[0], "contrast 2.85: pale"),
                ("<p style='font-size: 7px'>tiny</p>", screenshots.VIEWS[0], "letters of 7.0 pixels: tiny"),
                ("", dark, "the background has luminance 1.00"),
                ("<svg class=chart aria-label=a viewBox='0 0 100 50'><text x=10 y=20>over</text><text x=12 y=20>lap</text></svg>",
                 screenshots.VIEWS[0], 'texts lie on each other, "over" and: lap'),
                ("<svg class=chart aria-label=a viewBox='0 0 100 50'><text x=90 y=20>beyond</text></svg>",
                 screenshots.VIEWS[0], "a text leaves its chart: beyond"),
                ("<img src='http://127.0.0.1:9/x.png'>", screenshots.VIEWS[0], "asks for http://127.0.0.1:9/x.png")]:
            self.assertIn(expected, self.faults(self.BODY + html, view))
        self.assertIn("only 1 texts are shown", self.faults("<p>one</p>"))


@unittest.skipUnless(pages.available(), "chromium is not installed")
class PagesTest(harness.ProgramTest):
    def test_a_training_run(self):
        self.trained("--set", "train.valid_every=5", steps=12)
        pages.look_at(self, self.path("model/report.html"))


if __name__ == "__main__":
    harness.main()
