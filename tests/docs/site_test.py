#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The handbook builds without warnings, its links and the links of all documents lead somewhere, and its search works from a file.

site_test.py BUILD_FOLDER/anything. Skipped where Sphinx, MyST or furo is missing.
"""
import html.parser
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "docs/tools")]
import browser
import checks
import words
from checks import check

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/x").resolve().parent
FOLDER = ROOT / "build/docs_test"  # not the handbook that is installed, which another test may be packing
SITE = FOLDER / "html"
# Words that users search for, and a page that must be found.
SEARCHED = {"far-fault": "concepts/fault", "TLB shootdown": "developing/glossary", "Slurm": "reference/commands", "oversubscription": "developing/glossary"}


# Elements that are cut off at the right, as no element around them scrolls.
CUT_OFF = """[...document.querySelectorAll('article *')].filter(e => {
  if (e.getBoundingClientRect().right <= innerWidth + 1) return false;
  for (let p = e; p && p.tagName !== 'ARTICLE'; p = p.parentElement)
    if (['auto', 'scroll'].includes(getComputedStyle(p).overflowX)) return false;
  return true;
}).map(e => e.tagName + ' ' + e.textContent.trim().slice(0, 40)).slice(0, 2)"""


class Page(html.parser.HTMLParser):
    """Anchors, links, and files that a browser loads with the page."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if a.get("id"):
            self.anchors.add(a["id"])
        if tag == "a" and a.get("name"):
            self.anchors.add(a["name"])
        if tag == "a" and a.get("href"):
            self.links.append(a["href"])
        if tag in ("img", "script", "iframe", "source") and a.get("src"):
            self.loaded.append(a["src"])
        if tag == "link" and a.get("rel") != "canonical" and a.get("href"):
            self.loaded.append(a["href"])


def broken_links(site):
    """'page: link' for each link to a missing file or anchor, and for each file loaded from elsewhere."""
    pages = {f: Page(f.read_text(encoding="utf-8")) for f in site.rglob("*.html")}
    broken = []
    for file, page in pages.items():
        for link in page.links + page.loaded:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    broken.append(f"{file.relative_to(site)}: loads {link}")
                continue
            target = (file.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else file
            anchor = urllib.parse.unquote(parts.fragment)
            known = target in pages and (not anchor or anchor in pages[target].anchors)
            if not known and (target in pages or not target.is_file()):
                broken.append(f"{file.relative_to(site)}: {link}")
    return broken


def heading_anchors(text):
    """The anchors of a Markdown file on GitHub: lower case, spaces as hyphens, without punctuation; repeated ones numbered."""
    found, fenced = {}, False
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        heading = re.match(r"#+ +(.*)", line)
        if heading and not fenced:
            anchor = re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading[1]).lower()).replace(" ", "-")
            count = found.get(anchor, 0)
            found[anchor] = count + 1
            if count:
                found[f"{anchor}-{count}"] = 1
    return set(found)


def broken_document_links(files):
    """'file:line: link' for each link of a Markdown file to a missing file or heading."""
    broken = []
    for file in files:
        fenced = False
        text = file.read_text(encoding="utf-8")
        for number, line in enumerate(text.split("\n"), 1):
            fenced ^= line.startswith("```")
            for link in [] if fenced else re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                path, _, anchor = link.partition("#")
                target = file.parent / urllib.parse.unquote(path) if path else file
                if "://" in link or link.startswith("mailto:") or is_generated(target):
                    continue
                if not target.exists() or (anchor and target.suffix == ".md" and anchor not in heading_anchors(target.read_text(encoding="utf-8"))):
                    broken.append(f"{file.name}:{number}: {link}")
    return broken


def is_generated(target):
    """Pages of the reference exist only in the built site, where broken_links() checks links to them."""
    path = pathlib.Path(os.path.normpath(target))
    return path.is_relative_to(ROOT / "docs/reference") and not path.exists()


def documents():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--", "*.md"], capture_output=True)
    names = listed.stdout.decode().split("\0") if listed.returncode == 0 else []
    return [ROOT / n for n in names if n and (ROOT / n).is_file()]


def program_says(*arguments):
    return json.loads(subprocess.run([BUILD / "farfault", *arguments], check=True, capture_output=True, text=True).stdout)


def missing_places(site, places):
    """The places among PAGE.html#ANCHOR that are missing: page or anchor."""
    pages = {}
    for name in {place.partition("#")[0] for place in places}:
        file = site / name
        pages[name] = Page(file.read_text(encoding="utf-8")).anchors if file.is_file() else set()
    return [place for place in places if place.partition("#")[2] not in pages[place.partition("#")[0]]]


def names_are_defined(site):
    """words.tsv: every parameter and statistic, at its anchor."""
    defined = {n.name: n for n in reversed(words.read(site / words.FILE))}
    missing = missing_places(site, [f"{n.page}.html#{n.anchor}" for n in defined.values()])
    check(not missing, f"each name has its anchor, not: {missing[:10]}")
    printed = {p["key"]: p["page"] for p in program_says("params", "--json")["parameters"]}
    missing = [k for k in printed if k not in defined or defined[k].anchor != words.anchor_of(k)]
    check(printed and not missing, f"each parameter is defined at the anchor formed of its key, not: {missing[:10]}")
    missing = missing_places(site, printed.values())
    check(not missing, f"each page and anchor that params prints exists, not: {missing[:10]}")
    paths = [s["path"] for s in program_says("statistics", "paper-mosaic", "--json")["statistics"]]
    missing = [p for p in paths if p not in defined]
    check(paths and not missing, f"each statistic is defined, not: {missing[:10]}")
    text = (site / "reference/parameters/gpu-l1-tlb.html").read_text(encoding="utf-8")
    found = next(p for p in program_says("params", "gpu.l1_tlb", "--json")["parameters"] if p["key"] == "gpu.l1_tlb.entries")
    place = text[text.index('id="gpu-l1-tlb-entries"'):][:1500]
    check(all(part in re.sub(r"<[^>]*>", "", place) for part in (found["text"], found["default"], found["range"], found["source"])),
          f"a parameter has its text, default, range and source: {place}")


def search_in_browser(site):
    with browser.Browser() as b:
        for query, wanted in SEARCHED.items():
            b.call("Page.navigate", url=f"file://{site}/search.html?" + urllib.parse.urlencode({"q": query}))
            links, until = [], time.monotonic() + 30
            while time.monotonic() < until and not links:
                b.frame()
                links = b.evaluate("document.querySelector('#search-results .search-summary, #search-results p')?.innerText.match(/found|not match/)"
                                   " ? [...document.querySelectorAll('#search-results li a')].map(a => a.href) : []")
            check(any(f"/{wanted}.html" in link for link in links), f"the search for {query!r} finds {wanted}, not {links}")
            said = [c for c in b.complaints() if not c.startswith("asked for data:")]
            check(said == [], f"the browser reports errors or requests: {said}")
        b.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        b.open(site / "index.html")
        shades = [int(c) for c in re.findall(r"\d+", b.evaluate("getComputedStyle(document.body).backgroundColor"))][:3]
        check(max(shades) < 64, f"the page is dark if the browser prefers it: {shades}")
        b.call("Emulation.setDeviceMetricsOverride", width=500, height=900, deviceScaleFactor=1, mobile=False)
        wide = []
        for file in sorted(site.rglob("*.html")):
            b.open(file)
            wide += [f"{file.relative_to(site)}: {text}" for text in b.evaluate(CUT_OFF)]
        check(not wide, f"at 500 pixels, tables and drawings scroll but pages do not: {wide}")


def search_in_index(site):
    """The same by only the index: every word of the query, stemmed, leads to the page."""
    from sphinx.search.en import SearchEnglish
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(re.sub(r"([{,])(\w+):", r'\1"\2":', text[text.index("(") + 1:text.rindex(")")]))
    english = SearchEnglish({})
    for query, wanted in SEARCHED.items():
        page = index["docnames"].index(wanted)
        for word in english.split(query):
            stem = english.stem(word.lower())
            pages = [p for part in ("terms", "titleterms") for p in [index[part].get(stem, [])]]
            check(any(p == page or (isinstance(p, list) and page in p) for p in pages), f"the index leads from {word!r} of {query!r} to {wanted}")


def finds_what_is_broken():
    """The test of the test: planted errors are found, and nothing else."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch).resolve()
        (folder / "a.html").write_text('<p id="x"></p><a href="b.html#y">1</a><a href="b.html">2</a><a href="#x">3</a>')
        (folder / "b.html").write_text('<a href="a.html#none">4</a><a href="c.html">5</a><script src="http://example.org/s.js"></script><p id="y">')
        found = broken_links(folder)
        check(sorted(found) == ["b.html: a.html#none", "b.html: c.html", "b.html: loads http://example.org/s.js"], f"planted broken links of a site: {found}")
        found = missing_places(folder, ["a.html#x", "b.html#x", "c.html#x", "b.html", "b.html#y"])
        check(found == ["b.html#x", "c.html#x", "b.html"], f"planted missing places: {found}")
        (folder / "a.md").write_text("# One `two`: three\n[1](a.md#one-two-three) [2](#none) [3](b.md) `[4](c.md)`\n```\n[5](d.md)\n```\n")
        found = broken_document_links([folder / "a.md"])
        check(found == ["a.md:2: #none", "a.md:2: b.md"], f"planted broken links of a document: {found}")


def main():
    for name, package in (("sphinx", "python3-sphinx"), ("myst_parser", "python3-myst-parser"), ("furo", "furo"), ("h5py", "python3-h5py")):
        if importlib.util.find_spec(name) is None:
            print(f"skipped: {package} is missing")
            return 77
    finds_what_is_broken()
    done = subprocess.run([ROOT / "docs/build", BUILD / "farfault", FOLDER], capture_output=True, text=True)
    check(done.returncode == 0 and done.stderr == "", f"docs/build ends without a warning: {done.stderr[-3000:]}")
    if done.returncode == 0:
        broken = broken_links(SITE)
        check(not broken, "no link of the site is broken:\n" + "\n".join(broken[:40]))
        names_are_defined(SITE)
        if browser.find():
            search_in_browser(SITE)
        else:
            print("a browser is missing: the search is checked in its index")
            search_in_index(SITE)
    broken = broken_document_links(documents())
    check(not broken, "no link of a document is broken:\n" + "\n".join(broken[:40]))
    print(checks.counts())
    return 0 if checks.counts().endswith(" 0 failed") else 1


if __name__ == "__main__":
    sys.exit(main())
