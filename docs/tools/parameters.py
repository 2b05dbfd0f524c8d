# SPDX-License-Identifier: Apache-2.0
"""Pages of parameters: one per component or section, with an anchor per parameter."""
import markdown as md
from words import Name, anchor_of, target

FOLDER = "reference/parameters"
# Devices, whose components have a page each.
DEVICES = ("gpu", "cpu")


def page_of(section):
    """The page of a section: gpu.l1_tlb.compressed is on the page gpu.l1_tlb."""
    words = section.split(".")
    return ".".join(words[:2] if words[0] in DEVICES else words[:1])


def facts_of(p):
    facts = [f"Default: {md.code(p.default)}"]
    if not p.choices:
        facts.append(f"unit: {md.text(p.unit)}")
        if p.range:
            facts.append(f"range: {md.text(p.range)}")
    return "; ".join(facts) + f". Source: {md.sentence(p.source)}"


def entry(p, level):
    """A parameter: its anchor, key, text, choices and facts."""
    lines = [target(p.key), f"{'#' * level} `{p.key}`" if level else f"**`{p.key}`**", "", md.sentence(p.text), ""]
    if p.choices:
        lines += [*(f"- `{c.name}`: {md.text(c.text)}" for c in p.choices), ""]
    return "\n".join([*lines, "```{container} facts", facts_of(p), "```", ""])


def pages(program):
    titles = dict(program.sections())
    workloads = {w.name: w.text for w in program.workloads()}
    by_page = {}
    for p in program.parameters():
        section = p.key.rpartition(".")[0]
        by_page.setdefault(page_of(section), {}).setdefault(section, []).append(p)
    texts, names, listed = {}, [], []
    for key, sections in by_page.items():
        file = anchor_of(key)
        page = f"{FOLDER}/{file}"
        # Hundreds of parameters of workloads would hide the list of workloads in the contents of the page.
        level = None if key == "workload" else 3
        lines = [f"# `{key}`", ""]
        for section, members in sections.items():
            workload = section.split(".")[1] if section.count(".") == 1 and key == "workload" else None
            title = workloads.get(workload) or titles.get(section, "")
            lines += [target("section " + section), f"## `[{section}]`", ""]
            if title:
                lines += [md.sentence(title), ""]
            names.append(Name(section, page, anchor_of("section " + section), "section"))
            if workload in workloads:
                names.append(Name(workload, page, anchor_of("section " + section), "workload"))
            for p in members:
                lines.append(entry(p, level))
                names.append(Name(p.key, page, anchor_of(p.key), "parameter"))
        texts[page + ".md"] = "\n".join(lines)
        about = titles.get(key) or titles.get(next(iter(sections)), "")
        listed.append((file, f"`{key}`", md.text(about) + f" ({sum(map(len, sections.values()))})"))
    count = sum(n.kind == "parameter" for n in names)
    opening = (f"The {count} parameters of a configuration, by table. `farfault params` prints the same list; a configuration sets them in a "
               "TOML file or with `--set KEY=VALUE`. The number of parameters is in parentheses.")
    texts[FOLDER + "/index.md"] = md.index("Parameters", opening, listed)
    return texts, names
