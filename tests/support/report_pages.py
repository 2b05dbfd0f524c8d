# SPDX-License-Identifier: Apache-2.0
"""Results, their reports, and reports in a browser, for the tests of reports."""
import os
import subprocess
import sys
import tempfile

import browser

try:
    import h5py  # noqa: F401
    import numpy  # noqa: F401
except ImportError:
    print("skipped: python3-h5py is missing")
    sys.exit(77)
if not browser.find():
    print("skipped: a browser is missing (Debian: apt-get install chromium-headless-shell, 140 MB with what it needs; .ci/run full does)")
    sys.exit(77)

test_cli = os.path.abspath(sys.argv[1])
build = os.path.dirname(test_cli)
farfault = os.path.join(build, "farfault")
folder = tempfile.TemporaryDirectory()

# Finds a chart by its name, and the position of a value on the screen.
HELPERS = """
window.chartOf = (id) => document.querySelector(`.run:not([hidden]) [data-chart="${id}"]`);
window.placeOf = (element) => { element.scrollIntoView({block: "center"}); const b = element.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; };
window.pixel = (canvas, x, y) => {
  const [r, g, b, a] = canvas.getContext("2d").getImageData(Math.round(x), Math.round(y), 1, 1).data;
  return [r, g, b].map((c) => Math.round((c * a + 255 * (255 - a)) / 255));  // as on the white page
};
window.rgb = (colour) => { const c = document.createElement("canvas").getContext("2d"); c.fillStyle = colour; c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3); };
true
"""


def made(name, *settings, until=None, base="paper-gmmu-bypass"):
    path = os.path.join(folder.name, name)
    words = [w for s in settings for w in ("--set", s)]
    subprocess.run([farfault, "run", base, *words, "--output", path, "--threads", "1", "--progress", "off",
                    *(["--until", until] if until else [])],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def report(name, *results):
    path = os.path.join(folder.name, name)
    subprocess.run([farfault, "report", *results, "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def open_page(b, path, folds=True):
    """Opens a page, with all of its sections or as a reader first sees it. Returns the seconds until it was loaded."""
    took = b.open(path)
    b.evaluate(HELPERS)
    if folds:
        open_folds(b)
    b.frame()
    return took


def open_folds(b):
    b.evaluate("document.querySelectorAll('section:not([hidden]) details.part, body > details.part').forEach((fold) => openFold(fold))")
    b.frame()


def near(a, b, whole=1.0):
    return abs(a - b) <= 0.002 * max(abs(whole), 1e-300)
