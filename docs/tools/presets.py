# SPDX-License-Identifier: Apache-2.0
"""The page of presets: the configurations in topologies/presets, which the program contains."""
import pathlib

import markdown as md
from words import Name, anchor_of, target

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "topologies/presets"
PAGE = "reference/presets"


def parts_of(text):
    """The comment at the start of a file, as Markdown, and the rest."""
    lines = text.splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    about = []
    for line in (line[1:].strip() for line in lines[:end]):
        if line.startswith("SPDX-License-Identifier"):
            continue
        if line.startswith("- ") and about and not about[-1].startswith(("- ", "  ")):
            about.append("")
        about.append(("- " + md.text(line[2:])) if line.startswith("- ") else
                     ("  " if any(a.startswith("- ") for a in about) else "") + md.text(line))
    return "\n".join(about), "\n".join(lines[end:]).strip()


def pages(program):
    lines = ["# Presets", "", "Configurations by name: `farfault run NAME`, or `include = [\"NAME\"]` in a configuration.", ""]
    names, rows = [], []
    for file in sorted(FOLDER.glob("*.toml")):
        about, content = parts_of(file.read_text(encoding="utf-8"))
        name = file.stem
        rows.append([f"[`{name}`]({anchor_of('preset ' + name)})", about.split("\n")[0]])
        lines += [target("preset " + name), f"## `{name}`", "", about, "", "```toml", content, "```", ""]
        names.append(Name(name, PAGE, anchor_of("preset " + name), "preset"))
    lines.insert(4, md.table(["Preset", "Content"], rows))
    return {PAGE + ".md": "\n".join(lines)}, names
