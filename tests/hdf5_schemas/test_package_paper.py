# SPDX-License-Identifier: Apache-2.0
"""Plots in the style of papers: widths, fonts, patterns; and nothing outside of the style changes.

Usage: python3 test_package_paper.py PATH/TO/test_hdf5_schemas
FARFAULT_KEEP_PLOTS: folder in which the plots are kept for inspection.
"""
import os
import re
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sample_runs  # noqa: E402
from package_tests import ff, main, numpy, refused  # noqa: E402

try:
    import matplotlib
    import matplotlib.pyplot as plt
except ModuleNotFoundError as missing:
    print(f"skipped: {missing.name}: this Python does not have it")
    sys.exit(77)

from farfault import palette, styles  # noqa: E402


def prepare(folder):
    return sample_runs.bfs(folder)


def fonts_of(pdf):
    """The kinds of the fonts of a PDF, from its objects, also of compressed ones."""
    with open(pdf, "rb") as file:
        data = file.read()
    texts = [data]
    for packed in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL):
        try:
            texts.append(zlib.decompress(packed))
        except zlib.error:
            pass
    fonts = [found for text in texts for found in re.findall(rb"/Type /Font\b.*?>>", text, re.DOTALL)]
    return {re.search(rb"/Subtype /(\w+)", font)[1].decode() for font in fonts}, {
        name.decode() for text in texts for name in re.findall(rb"/BaseFont /(?:[A-Z]{6}\+)?(\S+)", text)}, sum(t.count(b"/FontFile2") for t in texts)


def kept(figure, name):
    if "FARFAULT_KEEP_PLOTS" in os.environ:
        figure.savefig(os.path.join(os.environ["FARFAULT_KEEP_PLOTS"], f"{name}.png"))
    plt.close(figure)


def a_figure_is_as_wide_as_the_columns(path):
    run = ff.open(path)
    for publisher, widths in (("ieee", (3.5, 7.16)), ("acm", (3.336, 7.005))):
        for columns, width in zip((1, 2), widths):
            with ff.style("paper", columns, publisher=publisher):
                figure = run.plot.latency_stack()
            assert figure.get_size_inches()[0] == width, (publisher, columns)
            kept(figure, f"paper_{publisher}_{columns}")
    with ff.style("paper", width=5.0):
        figure = run.plot.hit_rates()
    assert figure.get_size_inches()[0] == 5.0
    kept(figure, "paper_5")


def texts_have_7_or_8_points_and_are_inside_the_figure(path):
    run = ff.open(path)
    for name in ("timeline", "hit_rates", "latency_stack", "latency_histogram", "stalls", "traffic", "links", "placement"):
        with ff.style("paper"):
            figure = getattr(run.plot, name)()
        figure.canvas.draw()
        texts = [t for t in figure.findobj(plt.Text) if t.get_text().strip() and t.get_visible()]
        assert {t.get_fontsize() for t in texts} <= {7, 8}, (name, {t.get_fontsize() for t in texts})
        for legend in figure.legends:
            box = legend.get_window_extent()
            assert box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, name
            assert box.y0 >= max(a.get_tightbbox(figure.canvas.get_renderer()).y1 for a in figure.axes) - 1, f"{name}: the legend covers the axes"
        kept(figure, f"paper_{name}")


def a_pdf_has_only_embedded_truetype_fonts(path):
    run = ff.open(path)
    pdf = path.replace(".h5", ".pdf")
    with ff.style("paper"):
        figure = run.plot.timeline()
        figure.savefig(pdf)
    inside = fonts_of(pdf)
    figure.savefig(pdf)  # outside of the block
    kinds, names, embedded = fonts_of(pdf)
    assert (kinds, names, embedded) == inside and kinds == {"Type0", "CIDFontType2"} and embedded >= 1, (kinds, names, embedded)
    assert "STIXGeneral-Regular" in names or "STIXGeneral" in names, names
    plt.close(figure)
    figure = run.plot.timeline()
    figure.savefig(pdf)
    assert "Type3" in fonts_of(pdf)[0], "the check finds Type 3"
    plt.close(figure)


def a_style_changes_nothing_outside_of_its_block(path):
    before = dict(matplotlib.rcParams)
    with ff.style("paper"):
        assert matplotlib.rcParams["pdf.fonttype"] == 42
        with ff.style("paper", 2):
            assert styles.current().width == 7.16
        assert styles.current().width == 3.5
    assert dict(matplotlib.rcParams) == before and styles.current() is styles.SCREEN
    try:
        with ff.style("paper"):
            raise KeyError
    except KeyError:
        pass
    assert dict(matplotlib.rcParams) == before and styles.current() is styles.SCREEN
    figure = ff.open(path).plot.latency_stack()
    assert figure.get_size_inches()[0] == 9 and dict(matplotlib.rcParams) == before
    plt.close(figure)


def a_style_in_use_is_that_of_the_program_until_the_next_one(path):
    before = dict(matplotlib.rcParams)
    ff.style("paper", 2).use()
    figure = ff.open(path).plot.latency_stack()
    assert figure.get_size_inches()[0] == 7.16 and matplotlib.rcParams["pdf.fonttype"] == 42
    plt.close(figure)
    ff.style("paper", 1).use()
    with ff.style("screen"):
        assert styles.current().width is None
    assert styles.current().width == 3.5
    ff.style("screen").use()
    assert dict(matplotlib.rcParams) == before and styles.current() is styles.SCREEN


def parts_have_patterns_and_lines_have_dashes(path):
    run = ff.open(path)
    with ff.style("paper"):
        stack, rates, loads = run.plot.latency_stack(), run.plot.hit_rates(), run.plot.latency_histogram()
    for container in stack.axes[0].containers:
        key = next(k for k, c in palette.COLOURS.items() if matplotlib.colors.to_hex(container[0].get_facecolor()) == c)
        assert container[0].get_hatch() == styles.PATTERNS[key], key
    assert len({str(p.get_linestyle()) for p in rates.axes[0].patches}) == 4
    assert len({line.get_marker() for line in loads.axes[0].lines}) == 4
    for figure in (stack, rates, loads):
        plt.close(figure)
    plain = run.plot.latency_stack()
    assert {c[0].get_hatch() for c in plain.axes[0].containers} == {None}
    plt.close(plain)


def parts_with_one_pattern_differ_in_lightness(_):
    for keys in ((*palette.STAGES, *palette.OUTSTANDING), (*palette.ACTIVITIES, *palette.SWAPPED_OUT)):
        looks = [(styles.PATTERNS[k], styles.lightness(palette.COLOURS[k]), k) for k in keys]
        for i, (hatch, light, key) in enumerate(looks):
            for other_hatch, other_light, other in looks[:i]:
                assert hatch != other_hatch or abs(light - other_light) > 0.2, (key, other, light, other_light)
        assert all(a[0] != b[0] for a, b in zip(looks, looks[1:])), "neighbours have different patterns"
    assert len(set(styles.HATCHES)) == len(palette.LINES)


def titles_are_left_to_the_caption(path):
    run = ff.open(path)
    with ff.style("paper"):
        bare = run.plot.latency_stack()
    with ff.style("paper", titles=True):
        titled = run.plot.latency_stack()
    assert bare.axes[0].get_title() == "" and titled.axes[0].get_title() == "latency stack of bfs.h5"
    assert bare.axes[0].get_xlabel() == "average access time (ns)" and bare.axes[0].get_ylabel() == "GPU"
    plt.close(bare), plt.close(titled)


def a_wrong_style_is_refused(_):
    refused(lambda: ff.style("poster"), "'poster'", '"screen", "paper"')
    refused(lambda: ff.style("paper", 3), "1 or 2, not 3")
    refused(lambda: ff.style("paper", publisher="usenix"), "'usenix'", '"ieee", "acm"')
    refused(lambda: ff.style("paper", width=0.1), "1 to 50 inches, not 0.1")


def colours_of_lines_are_those_of_the_palette(path):
    figure = ff.open(path).plot.timeline(["sm/instructions"])
    lines = [p for p in figure.axes[1].patches if hasattr(p, "get_data")]
    assert [matplotlib.colors.to_hex(p.get_edgecolor()) for p in lines] == list(palette.LINES[:4])
    plt.close(figure)
    traffic = ff.open(path).plot.traffic()
    image = traffic.axes[0].images[0]
    assert numpy.allclose(image.cmap(1.0)[:3], numpy.array(palette.SHADES[1]) / 255, atol=0.01)
    plt.close(traffic)


TESTS = (a_figure_is_as_wide_as_the_columns, texts_have_7_or_8_points_and_are_inside_the_figure, a_pdf_has_only_embedded_truetype_fonts,
         a_style_changes_nothing_outside_of_its_block, a_style_in_use_is_that_of_the_program_until_the_next_one,
         parts_have_patterns_and_lines_have_dashes, parts_with_one_pattern_differ_in_lightness, titles_are_left_to_the_caption,
         a_wrong_style_is_refused, colours_of_lines_are_those_of_the_palette)

if __name__ == "__main__":
    sys.exit(main(TESTS, prepare))
