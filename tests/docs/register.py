#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts markers of unidiomatic prose per 10,000 words, over all tracked text.

register.py [--worst N] [PATH ...]

Prints each marker with its rate and its limit, and N passages that have markers. Exit code 1 if a marker is over its limit.
"""
import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import prose

# A marker, its pattern, and its limit: twice the rate of Akita v5 (145,000 words of its Go sources and documents, without
# code blocks), at least 1.
MARKERS = [
    ("opens with Of/Where/What/Whose/Whether", r"(?:(?<=[.:;] )|^)(?:Of|Where|What|Whose|Whether) (?!is\b.*\?|are\b.*\?)", 1.0),
    ("those", r"\bthose\b", 4.6),
    ("says, said", r"\b(?:says|said)\b", 2.0),
    ("comes, came", r"\b(?:comes|came)\b", 5.4),
    ("tells, told", r"\b(?:tells|told)\b", 2.4),
    ("lies, lie", r"\b(?:lies|lie)\b", 1.0),
    ("beside", r"\bbeside\b", 1.0),
    ("nobody, somebody, whoever, everybody", r"\b(?:nobody|somebody|whoever|everybody)\b", 1.0),
    ("under way", r"\bunder way\b", 1.0),
    ("of which, of whom", r"\bof wh(?:ich|om)\b", 1.4),
    ("in turn", r"\bin turn\b", 1.0),
    ("gives way", r"\b(?:give|gives|gave) way\b", 1.0),
    ("anew", r"\banew\b", 1.0),
    ("is no, are no", r"\b(?:is|are) no (?!longer|more\b)[a-z]+", 2.0),
    ("such", r"\bsuch\b(?! as)(?!(?<=[Nn]o such) (?:file|device)\b)", 1.4),
    ("goes, went", r"\b(?:goes|went)\b", 1.2),
    ("stands", r"\bstands?\b", 1.0),
    ("is there, are there", r"\b(?:is|are|was|were) there\b(?!\?)", 1.0),
    ("as it is, as they are", r"\bas (?:it|they) (?:is|are|was|were)\b", 1.0),
    ("of its own", r"\bof (?:its|their) own\b", 1.0),
]

# Phrases that the field does not use, with a limit of 0. Rates and shares are "per", pages are "evicted" and "unmapped", messages have a "route".
NUMBER = r"(?:one|two|three|four|five|six|eight|ten|half|[0-9]+(?:[.,][0-9]+)*(?:x[0-9]{1,2})?)"
COUNTED = (r"(?:events|bytes|instructions|requests|look-ups?|transactions|accesses|reads|writes|hits|misses|walks|cycles|entries|lines|pages|packets|messages|threads|"
           r"warps|blocks|samples|links|ports|slots|edges|units|SMs|GPUs|multiprocessors|floats|rounds|vertices|banks|channels?|wavefronts|handled|walkers|lanes|"
           r"NVLinks|NICs|credits|rows)")
UNIT = (r"(?:cycle|event|second|transaction|access|page|GPU|CPU|SM|CU|round|slice|channel|warp|block|thread|lane|step|kernel|row|line|element|point|output|sample|"
        r"link|port|rank|set|way|node|machine|switch|vertex|edge|bucket|message|epoch|level|instruction|core|partition|iteration|pair|side|sort|queue|device|walker|"
        r"turn|window|file|run|minute|microsecond|us|ms|workload|miss|time|cluster|transform|tile)")
PHRASES = [
    ("one a cycle", rf"\b(?:{NUMBER}|{COUNTED}) an? {UNIT}\b(?! (?:holds?|may|can|must|has|is|with|of|that|later|earlier|after|before|whose|for|apart))"),
    ("once a cycle", rf"\b(?:once|twice) an? {UNIT}\b(?! (?:that|is|has|below|with))"),
    ("two bytes a line", rf"\b{NUMBER} (?:[a-z]+ )?{COUNTED} an? {UNIT}\b(?! (?:holds?|may|can|has|is|that))"),
    ("one thread an element", rf"\b(?:one|an?) (?:thread|warp|block|kernel|walk|lane|GPU|line|step|number) an? {UNIT}\b"),
    ("a cycle each", r"\ba cycle each\b"),
    ("puts out lines", r"\bputs? out (?!(?:of|there|a sentence))"),
    ("line put out", r"\b(?:is|was|are|were|line|lines) put out\b"),
    ("nowhere yet", r"\bnowhere yet\b"),
    ("who asks", r"\bwho (?:asks|asked|faults|waits|wants|touches)\b"),
    ("held back", r"\bheld back\b|\bholds? back who\b"),
    ("by the same way", r"\bby the same way\b|\bsame way\)|\bthe way to the (?:driver|GPU|IOMMU|memory)\b"),
    ("from afar", r"\bfrom afar\b"),
    ("gives out", r"\b(?:gives?|given|giving) out\b"),
    ("round the GPUs", r"\bround the (?:GPUs|devices)\b"),
    ("to and fro", r"\bto and fro\b"),
    ("in vain", r"\bin vain\b|\b[Vv]ain walks?\b"),
    ("taken up again", r"\btaken up again\b|\btakes? up (?:one|the run)\b"),
]
MARKERS += [(name, pattern, 0.0) for name, pattern in PHRASES]

# Not prose of this project: texts of others, and tables that a program writes.
SKIPPED = re.compile(r"(?:^|/)(?:LICENSE|uplot\.[^/]*|(?:results|sensitivity|tables)\.md)$|\.(?:svg|png|xz|json|xml|csv|graph|mtx)$|^tests/golden/results\.txt$"
                     r"|^tests/docs/(?:register\w*|prose)\.py$")


def count(texts):
    """Words, hits of each marker, and the passages with hits, of (name, text)."""
    words, hits, where = 0, Counter(), []
    for name, text in texts:
        for line, passage in prose.passages(name, text):
            words += len(passage.split())
            for marker, pattern, _ in MARKERS:
                found = len(re.findall(pattern, passage))
                hits[marker] += found
                if found:
                    where.append(f"{name}:{line}: [{marker}] {passage}")
    return words, hits, where


def over(words, hits):
    """Markers over their limit."""
    return [marker for marker, _, limit in MARKERS if 1e4 * hits[marker] / words > limit]


def tracked(root, paths=(".",)):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--", *paths], capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        if name and not SKIPPED.search(name):
            try:
                yield name, (Path(root) / name).read_text(encoding="utf-8")
            except (UnicodeDecodeError, IsADirectoryError, FileNotFoundError):
                continue


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--worst", type=int, default=0, metavar="N", help="print N passages with markers")
    p.add_argument("paths", nargs="*", default=["."], metavar="PATH")
    args = p.parse_args()
    words, hits, where = count(tracked(".", args.paths))
    if words == 0:
        print("no text")
        return 0
    bad = over(words, hits)
    for marker, _, limit in MARKERS:
        print(f"{marker:45s} {1e4 * hits[marker] / words:6.1f} per 10,000 words (limit {limit}){'  over' if marker in bad else ''}")
    print(f"{words} words, {len(bad)} of {len(MARKERS)} markers over their limit")
    print("\n".join(where[:args.worst]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
