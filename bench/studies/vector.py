# SPDX-License-Identifier: Apache-2.0
"""SVG figures of the studies, small enough to be committed. The same figure gives the same bytes.

Import this module before matplotlib.pyplot.
"""
import io
import re

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams |= {"svg.hashsalt": "farfault", "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]}
from matplotlib import pyplot  # noqa: E402
from matplotlib.patches import PathPatch  # noqa: E402
from matplotlib.path import Path as Outline  # noqa: E402


def bars(ax, at, heights, width, **style):
    """As ax.bar(), but as one path."""
    boxes = [Outline([(x - width / 2, 0), (x - width / 2, h), (x + width / 2, h), (x + width / 2, 0), (x - width / 2, 0)], closed=True)
             for x, h in zip(at, heights)]
    ax.add_patch(PathPatch(Outline.make_compound_path(*boxes), lw=0, **style))
    ax.autoscale_view()


def short(number):
    text = f"{float(number):.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def small_tag(tag):
    tag = re.sub(r"-?\d+\.\d\d+", lambda m: short(m[0]), tag)
    return re.sub(r'(?<= d=")[^"]*', lambda m: re.sub(r"\s*([A-Za-z])\s*", r"\1", m[0].strip()), tag)


def named_styles(svg):
    """Each style that occurs several times has a name: a class in the figure's style sheet."""
    styles = re.findall(r' style="([^"]*)"', svg)
    names = {style: f"s{i}" for i, style in enumerate(dict.fromkeys(s for s in styles if styles.count(s) > 1))}
    svg = re.sub(r' style="([^"]*)"', lambda m: f' class="{names[m[1]]}"' if m[1] in names else m[0], svg)
    sheet = "\n".join(f".{name}{{{style}}}" for style, name in names.items())
    return svg.replace("</style>", f"\n{sheet}</style>", 1)


def without_unused(svg):
    """Without comments and without names of parts that nothing refers to."""
    used = set(re.findall(r"#([^)\"]+)", svg))
    return re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL))


def short_names(svg):
    """Names of parts are numbers in order of occurrence."""
    names = {name: f"p{i}" for i, name in enumerate(dict.fromkeys(re.findall(r' id="([^"]*)"', svg)))}
    svg = re.sub(r' id="([^"]*)"', lambda m: f' id="{names[m[1]]}"', svg)
    return re.sub(r"(?<=#)[^)\"]+(?=[)\"])", lambda m: names.get(m[0], m[0]), svg)


def without_bare_groups(svg):
    """Without groups that have no attributes."""
    bare = []

    def kept(tag):
        if tag[0].startswith("</"):
            return "" if bare.pop() else tag[0]
        bare.append(tag[1] == "")
        return "" if bare[-1] else tag[0]

    return re.sub(r"\n\n+", "\n", re.sub(r"</?g\b([^>]*)>", kept, svg.replace("<g/>", "")))


def without_formalities(svg):
    """Without document type and without the metadata that is the same in each figure."""
    return re.sub(r"<!DOCTYPE[^>]*>\s*|<dc:type[^>]*/>\s*|<dc:format>.*?</dc:format>\s*|<dc:creator>.*?</dc:creator>\s*", "", svg, flags=re.DOTALL)


def small(svg):
    """With a tenth of a point as the resolution, and without indentation. Texts stay."""
    svg = re.sub(r">\s+<", ">\n<", re.sub(r"<[^>]*>", lambda m: small_tag(m[0]), without_formalities(svg)))
    return named_styles(without_bare_groups(short_names(without_unused(svg))))


def save(figure, path, title, description):
    """Writes the figure and closes it."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Title": title, "Description": description})
    pyplot.close(figure)
    path.write_text(small(text.getvalue()))
