# SPDX-License-Identifier: Apache-2.0
"""An extension of Sphinx: links that pages need no markup for.

- Inline code that is the exact name of a parameter, statistic, command or preset links to its definition.
- A link to a file of the repository outside the handbook becomes its path.
- Each term of the glossary has an anchor.
"""
import pathlib

import glossary
import words
from docutils import nodes
from sphinx import addnodes

LINKED = ("parameter", "statistic", "table", "command", "preset", "section")


def is_plain_word(name):
    """A command or preset such as `run` is too common a word to be a link by itself."""
    return name.isalpha()


def load(app):
    found = words.read(pathlib.Path(app.srcdir).parent / words.FILE)
    app.env.handbook_names = {n.name: n for n in reversed(found) if n.kind in LINKED and not is_plain_word(n.name)}


def replace_repository_links(app, doctree):
    source = pathlib.Path(app.srcdir).resolve()
    here = pathlib.Path(app.env.doc2path(app.env.docname)).parent
    for node in [*doctree.findall(addnodes.pending_xref), *doctree.findall(addnodes.download_reference)]:
        target = node.get("reftarget", "").partition("#")[0]
        if node.get("reftype") != "myst" or not target or "://" in target:
            continue
        path = here / target
        if not path.exists() or path.resolve().is_relative_to(source):
            continue
        inside = pathlib.Path(pathlib.os.path.normpath(path)).relative_to(pathlib.Path(pathlib.os.path.normpath(source.parent)))
        shown = [*node.children[0].children] if node.children else []
        if node.astext() != str(inside):
            shown += [nodes.Text(" ("), nodes.literal("", str(inside)), nodes.Text(")")]
        node.replace_self(shown)


def name_terms(app, doctree):
    if app.env.docname != glossary.PAGE:
        return
    for row in doctree.findall(nodes.row):
        if isinstance(row.parent, nodes.tbody):
            row["ids"].append(glossary.anchor(row[0].astext()))


def link_names(app, doctree, docname):
    names = app.env.handbook_names
    for literal in list(doctree.findall(nodes.literal)):
        name = names.get(literal.astext())
        outer = literal.parent
        while outer is not None and not isinstance(outer, (nodes.reference, nodes.title)):
            outer = outer.parent
        if name is None or outer is not None:
            continue
        link = nodes.reference("", "", internal=True, refuri=app.builder.get_relative_uri(docname, name.page) + "#" + name.anchor)
        literal.replace_self(link)
        link += literal


def setup(app):
    app.connect("builder-inited", load)
    app.connect("doctree-read", replace_repository_links)
    app.connect("doctree-read", name_terms)
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
