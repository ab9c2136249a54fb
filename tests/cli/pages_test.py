"""The pages that the program writes, as headless Chromium shows them: on a phone and on a desk, in light and in dark."""

import pathlib
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import screenshots  # noqa: E402


class FaultsTest(unittest.TestCase):
    """That the checks see what they are there for."""

    BODY = "<p>one</p>" * 12

    def faults(self, html, view=screenshots.VIEWS[0]):
        path = pathlib.Path(self.folder.name, "page.html")
        path.write_text("<!DOCTYPE html><title>t</title><meta name=viewport content='width=device-width'>" + html)
        return screenshots.faults(BROWSER, path, view, charts=False)

    def setUp(self):
        if not screenshots.chromium():
            self.skipTest("chromium is not installed")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_a_good_page_has_none(self):
        self.assertEqual(self.faults(self.BODY), [])

    def test_what_they_see(self):
        dark = screenshots.View("dark", 360, 800, dark=True, phone=True)
        for html, view, expected in [
                ("<div style='width: 500px'>wide</div>", screenshots.VIEWS[0], "the page is 500 wide in a window of 360"),
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


class PagesTest(harness.ProgramTest):
    def setUp(self):
        if not screenshots.chromium():
            self.skipTest("chromium is not installed")
        super().setUp()

    def look_at(self, page):
        for view in screenshots.VIEWS:
            with self.subTest(view.name):
                self.assertEqual(screenshots.faults(BROWSER, self.path(page), view), [])
                picture = BROWSER.screenshot()
                self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
                self.assertGreater(len(picture), 20000, "a page that is drawn")

    def test_a_training_run(self):
        self.trained("--set", "train.valid_every=5", steps=12)
        self.look_at("model/report.html")

    def test_the_demo(self):
        self.write("mine.txt", harness.text(60000, 7))
        self.succeed("demo", "--out", "out", "--text", "mine.txt", "--steps", "3", "--max-length", "4096", "--quiet")
        self.look_at("out/report.html")


BROWSER = None


def setUpModule():
    global BROWSER
    if screenshots.chromium():
        BROWSER = screenshots.Browser()
        unittest.addModuleCleanup(BROWSER.__exit__)


if __name__ == "__main__":
    harness.main()
