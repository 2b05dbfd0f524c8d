# SPDX-License-Identifier: Apache-2.0
"""The Python package, reports and `farfault explain` share names and colours, which differ with colour blindness.

Usage: python3 test_palette.py PATH/TO/test_hdf5_schemas
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sample_runs  # noqa: E402
from package_tests import PROGRAM, main, numpy  # noqa: E402

from farfault import palette  # noqa: E402

# Machado, Oliveira, Fernandes 2009: deuteranopia, of linear RGB.
DEUTERANOPIA = numpy.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]])
TO_XYZ = numpy.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = numpy.array([0.9505, 1.0, 1.089])


def seen(colour, matrix):
    """CIELAB of a colour. Two colours at a distance of 2.3 are just noticeably different."""
    part = numpy.array([int(colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = numpy.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    x, y, z = numpy.cbrt(TO_XYZ @ numpy.clip(matrix @ linear, 1e-4, 1) / WHITE)
    return numpy.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distances(colours, matrix):
    places = numpy.array([seen(c, matrix) for c in colours])
    return numpy.linalg.norm(places[:, None] - places[None, :], axis=2)


def prepare(folder):
    result = sample_runs.bfs(folder)
    page = os.path.join(folder, "report.html")
    subprocess.run([PROGRAM, "report", result, "-o", page], check=True, stdout=subprocess.DEVNULL)
    with open(page, encoding="utf-8") as text:
        return result, text.read()


def the_report_has_the_colours_of_the_package(prepared):
    _, page = prepared
    there = json.loads(re.search(r"^const palette = (\{.*?^\});", page, re.MULTILINE | re.DOTALL)[1])
    parts = [*there["stages"], there["outstanding"], *there["activities"], there["swapped_out"]]
    assert [(p["key"], p["name"], p["colour"]) for p in parts] == [(k, palette.NAMES[k], palette.COLOURS[k]) for k in palette.NAMES]
    assert tuple(there["lines"]) == palette.LINES
    assert re.findall(r" --line-\d: (#\w+);", page) == [*palette.LINES, *there["lines_dark"]]


def every_part_in_the_data_of_the_report_has_a_colour(prepared):
    _, page = prepared
    (data,) = [json.loads(text) for text in re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)]
    gpus, stacks = data["runs"][0]["gpus"], data["runs"][0]["gpu_stacks"]
    stages = [part["what"] for part in stacks["stages"]]
    assert stages == [*palette.STAGES.values(), *palette.OUTSTANDING.values()], stages
    assert [part["what"] for part in stacks["sms"]] == [name for key, name in palette.ACTIVITIES.items() if key != "fetch_stall"]
    shown = {part["what"] for name in ("stages", "sms") for part in gpus[name]} | {gpus["rest"]["what"]}
    assert {"executing", "idle", "interconnect links"} <= shown <= set(palette.NAMES.values()), shown


def explain_uses_the_names_of_the_package(prepared):
    result, _ = prepared
    said = subprocess.run([PROGRAM, "explain", result], check=True, capture_output=True, text=True).stdout
    assert all(palette.NAMES[key] in said for key in ("links", "walk", "active", "idle")), said


def names_and_keys_are_unique(_):
    assert len(set(palette.NAMES.values())) == len(palette.NAMES) == 24, palette.NAMES


def colours_differ_with_red_green_colour_blindness(_):
    stages = [palette.COLOURS[key] for key in (*palette.STAGES, *palette.OUTSTANDING)]
    activities = [palette.COLOURS[key] for key in (*palette.ACTIVITIES, *palette.SWAPPED_OUT)]
    for colours, least, of_neighbours in ((stages, 12, 20), (activities, 12, 20), (palette.LINES, 15, 15)):
        for matrix in (DEUTERANOPIA, numpy.eye(3)):
            apart = distances(colours, matrix)
            assert apart[~numpy.eye(len(colours), dtype=bool)].min() > least, (colours, apart.round())
            assert numpy.diagonal(apart, 1).min() > of_neighbours, "neighbours of a stack"
    confused = distances(("#d62728", "#2ca02c"), DEUTERANOPIA)[0, 1]
    assert confused < 0.35 * distances(("#d62728", "#2ca02c"), numpy.eye(3))[0, 1], "the simulation merges red and green"


TESTS = (the_report_has_the_colours_of_the_package, every_part_in_the_data_of_the_report_has_a_colour,
         explain_uses_the_names_of_the_package, names_and_keys_are_unique, colours_differ_with_red_green_colour_blindness)

if __name__ == "__main__":
    sys.exit(main(TESTS, prepare))
