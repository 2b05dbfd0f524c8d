# SPDX-License-Identifier: Apache-2.0
"""The page of commands: the help of each."""
import markdown as md
from words import Name, anchor_of, target

PAGE = "reference/commands"


def pages(program):
    lines = ["# Commands", "", "`farfault COMMAND --help` prints the same text.", ""]
    names = []
    listed = program.commands()
    rows = [[f"[`{program.name} {c.name}`]({anchor_of('command ' + c.name)})", md.text(c.text)] for c in listed]
    lines += [md.table(["Command", "Function"], rows), ""]
    for c in listed:
        lines += [target("command " + c.name), f"## `{program.name} {c.name}`", "", "```text", c.help.rstrip(), "```", ""]
        for name in (c.name, f"{program.name} {c.name}"):
            names.append(Name(name, PAGE, anchor_of("command " + c.name), "command"))
    return {PAGE + ".md": "\n".join(lines)}, names
