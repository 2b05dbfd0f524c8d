# SPDX-License-Identifier: Apache-2.0
"""Pages of parameters, with an anchor per parameter. The program assigns each parameter its page and anchor."""
import markdown as md
from words import Name, anchor_of, target

FOLDER = "reference/parameters"


def title_of(page, section):
    """The section that a page is named after: reference/parameters/gpu-l1-tlb has gpu.l1_tlb and gpu.l1_tlb.compressed."""
    words = section.split(".")
    return next(key for key in (".".join(words[:n + 1]) for n in range(len(words))) if page == f"{FOLDER}/{anchor_of(key)}")


def facts_of(p):
    facts = [f"Default: {md.code(p.default)}"]
    if not p.choices:
        facts.append(f"unit: {md.text(p.unit)}")
        if p.range:
            facts.append(f"range: {md.text(p.range)}")
    return "; ".join(facts) + f". Source: {md.sentence(p.source)}"


def entry(p, level):
    """A parameter: its anchor, key, text, choices and facts."""
    lines = [f"({p.anchor})=", f"{'#' * level} `{p.key}`" if level else f"**`{p.key}`**", "", md.sentence(p.text), ""]
    if p.choices:
        lines += [*(f"- `{c.name}`: {md.text(c.text)}" for c in p.choices), ""]
    return "\n".join([*lines, "```{container} facts", facts_of(p), "```", ""])


def pages(program):
    titles = dict(program.sections())
    workloads = {w.name: w.text for w in program.workloads()}
    by_page = {}
    for p in program.parameters():
        section = p.key.rpartition(".")[0]
        by_page.setdefault(p.page, {}).setdefault(section, []).append(p)
    texts, names, listed = {}, [], []
    for page, sections in by_page.items():
        key = title_of(page, next(iter(sections)))
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
                names.append(Name(p.key, page, p.anchor, "parameter"))
        texts[page + ".md"] = "\n".join(lines)
        about = titles.get(key) or titles.get(next(iter(sections)), "")
        listed.append((anchor_of(key), f"`{key}`", md.text(about) + f" ({sum(map(len, sections.values()))})"))
    count = sum(n.kind == "parameter" for n in names)
    opening = (f"The {count} parameters of a configuration, by table. `farfault params` prints the same list; a configuration sets them in a "
               "TOML file or with `--set KEY=VALUE`. The number of parameters is in parentheses.")
    texts[FOLDER + "/index.md"] = md.index("Parameters", opening, listed)
    return texts, names
