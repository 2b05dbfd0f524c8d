# SPDX-License-Identifier: Apache-2.0
"""Pages of statistics and of tables: what a run records, by path in the result."""
import markdown as md
from words import Name, anchor_of, target

# Configurations that together record every statistic of the presets.
CONFIGS = ("paper-gmmu-bypass", "paper-batch-aware", "paper-mosaic", "paper-mask", "dgx-a100")
PAGES = {
    "timeseries": ("reference/statistics", "Statistics",
                   "Time series of a result, `/timeseries/KIND/NAME`. A counter never decreases, a level is an amount, a histogram counts "
                   "values in bins. The configuration determines which of them a run records: `farfault statistics CONFIG` lists them."),
    "tables": ("reference/tables", "Tables",
               "Tables of a result, `/tables/NAME/COLUMN`, with one row per occurrence. `farfault statistics CONFIG` lists the tables of a "
               "configuration."),
}


def recorded(program):
    found, about = {}, {}
    for config in CONFIGS:
        for s in program.statistics(config):
            found.setdefault(s.path, s)
        about.update(program.table_texts(config))
    return found.values(), about


def pages(program):
    items, about = recorded(program)
    groups = {}
    for s in items:
        groups.setdefault(s.path.rpartition("/")[0], []).append(s)
    texts, names = {}, []
    for part, (page, title, opening) in PAGES.items():
        lines = [f"# {title}", "", opening, ""]
        for group, members in groups.items():
            if group.split("/")[1] != part:
                continue
            lines += [target(group), f"## `{group}`", ""]
            if group.split("/")[2] in about and part == "tables":
                lines += [md.sentence(about[group.split("/")[2]]), ""]
            names.append(Name(group, page, anchor_of(group), "table" if part == "tables" else "statistic"))
            for s in members:
                kind = "" if s.kind in ("column", "counter") else s.kind + ", "
                lines += [target(s.path), f"`{s.path.rpartition('/')[2]}`", f": {md.sentence(s.text)} *{kind}{md.text(s.unit)}*", ""]
                names.append(Name(s.path, page, anchor_of(s.path), "statistic"))
        texts[page + ".md"] = "\n".join(lines)
    return texts, names
