# SPDX-License-Identifier: Apache-2.0
"""The grid: all combinations of link bandwidth, IOMMU walk time and GMMU walk time.

The three parameters determine the headroom of the ideal scheme: link bandwidth decides if translations matter at all, the IOMMU walk
its capacity for requests from bypass, and the GMMU walk the cost of a failed walk. All cells of a workload place pages as in the
distributed design's first-touch run on the preset, so page ownership is the same in every cell.
"""
import figures
from figures import PAPER, gain
from study import DESIGNS
from variations import machine, simulation

# GB/s of PCIe x16: 3.0 (Table 1), 4.0 (MGPUSim 4.2), 5.0, 6.0.
LINKS = (16, 32, 64, 128)
# Cycles. MGPUSim has no walk time in August 2020 and 100 cycles since January 2021; 10 and 25 are between them.
IOMMU_WALKS = (1, 10, 25, 100)
# Cycles. 1 and 100: as above; 200: MacSim; 500: TLB compression (PACT 2020).
GMMU_WALKS = (1, 100, 200, 500)
QUICK = ((16, 128), (1, 25, 100), (100, 500))
# The cell with headroom: the widest links, the longest GMMU walks, and an IOMMU with spare capacity. It is the base of the sensitivity and a
# reading at the paper's footprint. Single runs of it were known when it was chosen.
ROOM = (128, 25, 500)
# Columns of the table: series, and True if the median follows the mean.
COLUMNS = {"bypass_over_distributed": True, "oracle_over_distributed": True, "bypass_over_centralized": True, "accuracy_above_t1": False,
           "accuracy_below_t2": False, "gmmu_walks": False, "iommu_walks": False}


def settings(cell, machines):
    """Settings of a cell. Writes its machine file into the folder `machines`."""
    link, iommu, gmmu = cell
    topology = {} if link == LINKS[0] else machine(machines / f"link-{link}.toml", bandwidth=link)
    return {**topology, "iommu.walk_latency": iommu, "gpu.gmmu.walk_latency": gmmu}


def words(cell):
    link, iommu, gmmu = cell
    return f"links of {link} GB/s, IOMMU walks of {iommu} cycles, GMMU walks of {gmmu} cycles"


class Grid:
    """The runs of all cells. After read(): mean and median of each series over the workloads."""

    def __init__(self, workloads, scale, out, quick=False):
        base = out / "grid"
        links, iommu, gmmu = QUICK if quick else (LINKS, IOMMU_WALKS, GMMU_WALKS)
        self.scale, self.cells = scale, [(b, i, g) for b in links for i in iommu for g in gmmu]
        pages = {w: simulation(w, "distributed", "first_touch", scale, {}, base) for w in workloads}

        def run(cell, workload, design):
            own = settings(cell, base / "machines")
            if design == "centralized":  # does not walk in GMMUs: one run for all GMMU walk times
                del own["gpu.gmmu.walk_latency"]
            return simulation(workload, design, "recorded", scale, own, base, source=pages[workload])

        self.runs = {c: {w: {d: run(c, w, d) for d in DESIGNS} for w in workloads} for c in self.cells}

    def all_runs(self):
        return [run for by in self.runs.values() for designs in by.values() for run in designs.values()]

    def read(self, results):
        self.means, self.medians = {}, {}
        for cell, by in self.runs.items():
            measured = {w: {d: m for d, m in ((d, results.of(r)) for d, r in designs.items()) if m} for w, designs in by.items()}
            s = figures.series(measured)
            self.means[cell] = {name: figures.mean(values.values()) for name, values in s.items()}
            self.medians[cell] = {name: figures.median(values.values()) for name, values in s.items()}


def rows(grid):
    """Rows of results.json.xz."""
    return [figures.row("grid", "recorded", kind, f"{words(cell)}: {name}", figures.SERIES[name][1], found[cell][name],
                        PAPER["averages"].get(name, {}).get("value") if kind == "average" else None)
            for kind, found in (("average", grid.means), ("median", grid.medians)) for cell in grid.cells for name in COLUMNS]


def sentence(settings_means):
    """Sentence: the number of settings with each of the paper's averages, and with both. `settings_means`: {words: means}."""
    names = "bypass_over_distributed", "bypass_over_centralized"
    measured = {k: [m.get(n) for n in names] for k, m in settings_means.items() if None not in [m.get(n) for n in names]}
    if not measured:
        return ""
    stated = [PAPER["averages"][n]["value"] for n in names]
    near = [[figures.agreeing(p)[0] <= v <= figures.agreeing(p)[1] for v, p in zip(values, stated)] for values in measured.values()]
    both = [k for k, n in zip(measured, near) if all(n)]
    first, second = (sum(n[i] for n in near) for i in (0, 1))
    ahead = [values for values, n in zip(measured.values(), near) if n[0]]
    said = (f"{first} of {len(measured)} settings reproduce the paper's {gain(stated[0])} over distributed, and {second} its {gain(stated[1])} over centralized, "
            f"each within half and twice its size; ")
    said += f"both are reproduced in {len(both)}: {'; '.join(both[:3])}." if both else "**none reproduces both**."
    if ahead and not both:
        most = max(v[1] for v in ahead)
        said += f" If bypass over distributed has the paper's size, bypass over centralized is at most {gain(most)}."
    return said


def section(grid):
    """The table of results.md."""
    header = ["link, GB/s", "IOMMU walk", "GMMU walk"]
    for name, with_median in COLUMNS.items():
        header += [figures.SERIES[name][2]] + (["median"] if with_median else [])
    lines = ["", "## Link bandwidth, IOMMU walks and GMMU walks", "",
             f"Means over the workloads, and medians. Walk latencies in cycles of 1 ns. If ideal is less than {figures.HEADROOM * 100:g}% ahead of "
             "distributed, the table has \"no headroom\" instead of a gain. All cells have the page placement of the distributed design's "
             "first touches on the preset.", "",
             "| " + " | ".join(header) + " |", "|" + " ---: |" * len(header)]
    for cell in grid.cells:
        lines.append("| " + " | ".join([*map(str, cell), *cells(grid.means[cell], grid.medians[cell])]) + " |")
    lines.append("| paper | | | " + " | ".join(cells({n: figures.paper(n) for n in COLUMNS}, {})) + " |")
    said = [least(grid), sentence({words(c): m for c, m in grid.means.items()})]
    return lines + ["", " ".join(s for s in said if s), ""]


def cells(means, medians):
    """Table cells of COLUMNS for one setting, including medians."""
    shown = []
    for name, with_median in COLUMNS.items():
        for found in (means, medians) if with_median else (means,):
            value = found.get(name)
            if value is None:
                shown.append("" if found is medians and not medians else "-")
            elif figures.SERIES[name][1] == "share":
                shown.append(figures.percent(value))
            elif name == "bypass_over_distributed":
                shown.append(figures.gained(value, found.get("oracle_over_distributed")))
            else:
                shown.append(gain(value))
    return shown


def least(grid):
    """Sentence: number of cells without headroom, by bandwidth."""
    none = {}
    for (link, _, _), m in grid.means.items():
        ideal = m.get("oracle_over_distributed")
        if ideal is not None:
            none.setdefault(link, []).append(ideal < 1 + figures.HEADROOM)
    said = ", ".join(f"{sum(flags)} of {len(flags)} at {link} GB/s" for link, flags in none.items())
    return f"No headroom: {said}." if said else ""
