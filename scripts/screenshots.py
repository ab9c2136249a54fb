#!/usr/bin/env python3
"""Renders HTML pages as a reader sees them: on a phone and on a desk, in light and in dark.

    screenshots.py PAGE.html [OUT]

Writes OUT/<page>-<view>.png (default: beside the page), one for each of VIEWS, with headless Chromium, and prints what
faults() finds. Standard library only: Chromium is spoken to by its debugging pipe. Exit status 1 where something is wrong.
"""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    name: str
    width: int
    height: int
    dark: bool = False
    phone: bool = False


VIEWS = [
    View("phone", 360, 800, phone=True),
    View("phone-dark", 360, 800, dark=True, phone=True),
    View("desktop", 1280, 800),
    View("desktop-dark", 1280, 800, dark=True),
]

# What a person could not read or use. Returns lines of text.
FAULTS = r"""
(() => {
  const faults = [], shown = e => { const r = e.getBoundingClientRect(); return r.width > 0 && r.height > 0; };
  const say = (text, e) => faults.push(text + ': ' + (e.textContent || e.tagName).trim().slice(0, 50));
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth)
    faults.push('the page is ' + root.scrollWidth + ' wide in a window of ' + root.clientWidth);
  if (!document.title) faults.push('no title');

  // Colours as [r, g, b, alpha], whatever notation the browser computes.
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const parse = text => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    const d = canvas.getImageData(0, 0, 1, 1).data;
    return [d[0], d[1], d[2], d[3] / 255];
  };
  const over = (a, b) => [0, 1, 2].map(i => a[3] * a[i] + (1 - a[3]) * b[i]).concat(1);
  const background = e => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, above) => over(above, below), [255, 255, 255, 1]);
  };
  const luminance = c => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const v = c[i] / 255; return sum + weight * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); }, 0);
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const paper = luminance(background(document.body));
  if (DARK ? paper > 0.1 : paper < 0.7) faults.push('the background has luminance ' + paper.toFixed(2));

  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(e) || e.closest('title, style, script')) continue;
    ++texts;
    const style = getComputedStyle(e), svg = e.closest('svg');
    const got = contrast(over(parse(svg ? style.fill : style.color), background(e)), background(e));
    if (got < 4.5) say('contrast ' + got.toFixed(2), e);
    const size = parseFloat(style.fontSize) * (svg ? svg.getScreenCTM().a : 1);
    if (size < 9) say('letters of ' + size.toFixed(1) + ' pixels', e);
  }
  if (texts < 10) faults.push('only ' + texts + ' texts are shown');

  let charts = 0;
  for (const svg of document.querySelectorAll('svg')) {
    if (!shown(svg)) continue;
    ++charts;
    if (!svg.getAttribute('aria-label')) faults.push('a picture without words for it');
    if (!svg.classList.contains('chart')) continue;  // a heat map's letters stand close on purpose
    const frame = svg.getBoundingClientRect(), boxes = [];
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        say('a text leaves its chart', text);
      for (const [other, b] of boxes)  // line boxes are taller than letters
        if (box.left < b.right - 1 && b.left < box.right - 1 && box.top + 3 < b.bottom - 3 && b.top + 3 < box.bottom - 3)
          say('texts lie on each other, "' + other.textContent.trim() + '" and', text);
      boxes.push([text, box]);
    }
  }
  if (SVGS && !charts) faults.push('no chart is shown');
  return faults;
})()
"""


def chromium():
    """The browser's path, or None."""
    for name in ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]:
        if path := shutil.which(name):
            return path
    return None


class Browser:
    """A headless Chromium with one page in it."""

    def __init__(self, program=None):
        self._folder = tempfile.TemporaryDirectory(prefix="longspan-chromium-", ignore_cleanup_errors=True)
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()

        def as_three_and_four():  # where the browser looks for its pipe; by way of numbers that are neither
            high = os.dup(to_read), os.dup(to_write)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [program or chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--user-data-dir=" + self._folder.name, "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(3, 4),
            preexec_fn=as_three_and_four)
        os.close(to_read)
        os.close(to_write)
        self._number, self._pending, self.requests = 0, b"", []
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Network"]:
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._folder.cleanup()

    def _message(self, timeout=60):
        end = time.monotonic() + timeout
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._in], [], [], max(0, end - time.monotonic()))
            piece = os.read(self._in, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("chromium does not answer")
            self._pending += piece
        text, self._pending = self._pending.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]

    def show(self, page, view):
        """Loads a file as `view` has it."""
        self.call("Emulation.setDeviceMetricsOverride", width=view.width, height=view.height, deviceScaleFactor=2 if view.phone else 1,
                  mobile=view.phone)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if view.dark else "light"}])
        self.requests.clear()
        self.call("Page.navigate", url=pathlib.Path(page).resolve().as_uri())
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", "a script failed"))
        return answer["result"].get("value")

    def screenshot(self):
        """The whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"])


def faults(browser, page, view, charts=True):
    """What is wrong with a page in a view: one line each. `charts`: it should show some."""
    browser.show(page, view)
    script = FAULTS.replace("DARK", json.dumps(view.dark)).replace("SVGS", json.dumps(charts))
    found = browser.evaluate(script)
    own = pathlib.Path(page).resolve().as_uri()
    return found + ["asks for " + url[:100] for url in browser.requests if url != own and not url.startswith("data:")]


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__.split("\n\n")[1].strip())
    page = pathlib.Path(sys.argv[1])
    out = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else page.parent
    if not page.is_file():
        sys.exit("screenshots.py: %s: there is no such file" % page)
    if not chromium():
        sys.exit("screenshots.py: chromium is not installed")
    out.mkdir(parents=True, exist_ok=True)
    status = 0
    with Browser() as browser:
        for view in VIEWS:
            for fault in faults(browser, page, view):
                print("%s: %s" % (view.name, fault))
                status = 1
            (out / ("%s-%s.png" % (page.stem, view.name))).write_bytes(browser.screenshot())
    sys.exit(status)


if __name__ == "__main__":
    main()
