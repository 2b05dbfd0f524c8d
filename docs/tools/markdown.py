# SPDX-License-Identifier: Apache-2.0
"""Pieces of Markdown for generated pages."""
import re


def text(words):
    """Plain text as Markdown: one line, in which no character is markup."""
    line = " ".join(str(words).split())
    return re.sub(r"([\\`*_{}\[\]<>|#$~^])", r"\\\1", line)


def code(words):
    return f"`{words}`" if words else "empty"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def code_in_table(words):
    return code(words.replace("|", "\\|"))


def sentence(words):
    """With a full stop."""
    line = text(words)
    return line if line.endswith((".", ":", "?", "!")) else line + "."


def index(title, opening, pages):
    """A page that lists others, given as (name, title, sentence)."""
    rows = [[f"[{name_}]({file}.md)", about] for file, name_, about in pages]
    tree = "\n".join(["```{toctree}", ":hidden:", *(file for file, _, _ in pages), "```"])
    return f"# {title}\n\n{opening}\n\n{table(['Page', 'Content'], rows)}\n{tree}\n"
