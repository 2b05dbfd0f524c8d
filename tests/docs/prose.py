# SPDX-License-Identifier: Apache-2.0
"""The prose of a source file: passages of Markdown, comments, docstrings and string literals.

passages(name, text) yields (line, passage). A passage is a paragraph, a block of comment lines, or a string literal with the
literals that follow it directly; text over several lines is joined. Left out: fenced and inline code, links' targets, strings of
less than four words, licence lines.
"""
import io
import re
import tokenize

LEAST_WORDS = 4  # of a string: shorter ones are names and units
CPP = (".cpp", ".hpp", ".h", ".js", ".css")
LITERAL = r'(?:u8|[uUL])?R"(?P<mark>[^()\\ ]{0,16})\((?P<raw>.*?)\)(?P=mark)"|"(?P<plain>(?:[^"\\\n]|\\.)*)"|`(?P<template>(?:[^`\\]|\\.)*)`'
TOKEN = re.compile(rf"(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|{LITERAL}|(?<![0-9A-Za-z_])'(?:[^'\\\n]|\\.)*'", re.DOTALL)


def passages(name, text):
    if name.endswith(".md"):
        found = markdown(text)
    elif name.endswith(CPP):
        found = cpp(text, single_quotes=name.endswith(".js"))
    elif name.endswith(".py") or re.match(r"#!.*python", text):
        found = python(text)
    else:
        found = script(text)
    for line, passage in found:
        passage = " ".join(passage.split())
        if passage and "SPDX-License" not in passage:
            yield line, passage


def joined(pieces, ends_at):
    """Passages of pieces (first line, last line, text) that follow each other without a line between them."""
    out = []
    for first, last, text in pieces:
        if out and first <= out[-1][1] + 1 and not ends_at(text):
            out[-1] = out[-1][0], last, out[-1][2] + " " + text
        else:
            out.append((first, last, text))
    return [(first, text) for first, _, text in out]


BEGINS_ITEM = re.compile(r"\s*(?:[-*+] |\d+\. |#+ |> ?)")


def markdown(text):
    fenced, pieces = False, []
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
            continue
        if fenced or not line.strip():
            continue
        line = re.sub(r"`[^`]*`", "X", re.sub(r"\]\([^)]*\)", "]", line))
        if line.lstrip().startswith("|"):
            pieces += [(number, number - 2, cell.strip()) for cell in line.strip().strip("|").split("|") if re.search(r"[A-Za-z]", cell)]
        else:
            pieces.append((number, number, line))
    return [(number, BEGINS_ITEM.sub("", passage, count=1) if BEGINS_ITEM.match(passage) else passage)
            for number, passage in joined(pieces, BEGINS_ITEM.match)]


def is_prose(text):
    return len(text.split()) >= LEAST_WORDS


def unescaped(text):
    return re.sub(r"\\[nt]", " ", text).replace('\\"', '"').replace("\\\n", " ")


def cpp(text, single_quotes=False):
    comments, strings, end = [], [], None
    for m in TOKEN.finditer(text):
        line = text.count("\n", 0, m.start()) + 1
        if m["line"] is not None:
            alone = not text[text.rfind("\n", 0, m.start()) + 1:m.start()].strip()
            comments.append((line if alone else line + 0.5, line if alone else line - 2, m["line"].lstrip("/ ")))
            continue
        if m["block"] is not None:
            comments.append((line, line - 2, re.sub(r"\n\s*\*", "\n", m["block"][2:-2])))
            continue
        content = next((m[kind] for kind in ("raw", "plain", "template") if m[kind] is not None), None)
        if content is None:
            if not single_quotes:
                continue
            content = m.group()[1:-1]
        content = content if m["raw"] is not None else unescaped(content)
        if end is not None and re.fullmatch(r"\s*\+?\s*", text[end:m.start()]):
            strings[-1] = strings[-1][0], strings[-1][1] + content
        else:
            strings.append((line, content))
        end = m.end()
    return [(int(line), passage) for line, passage in joined(comments, lambda text: not text)] + [s for s in strings if is_prose(s[1])]


def python(text):
    comments, strings, before = [], [], None
    for t in tokenize.generate_tokens(io.StringIO(text).readline):
        if t.type == tokenize.COMMENT:
            alone = not t.line[:t.start[1]].strip()
            comments.append((t.start[0], t.end[0] if alone else t.end[0] - 1, t.string.lstrip("#! ")))
        elif t.type == tokenize.STRING:
            content = unescaped(re.sub(r"""^[a-zA-Z]*('''|\"\"\"|'|")|('''|\"\"\"|'|")$""", "", t.string))
            if before == tokenize.STRING:
                strings[-1] = strings[-1][0], strings[-1][1] + content
            else:
                strings.append((t.start[0], content))
        if t.type not in (tokenize.COMMENT, tokenize.NL):
            before = t.type
    return joined(comments, lambda text: not text) + [s for s in strings if is_prose(s[1])]


def script(text):
    """Passages of shell scripts, CMake, TOML and YAML."""
    comments, rest = [], []
    for number, line in enumerate(text.split("\n"), 1):
        m = re.search(r"(?:^|\s)#(?!!)(.*)", line)
        if m:
            alone = not line[:m.start()].strip()
            comments.append((number, number if alone else number - 1, m[1]))
        rest += [(number, s) for pair in re.findall(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'", line[:m.start()] if m else line) for s in pair]
    return joined(comments, lambda text: not text.strip()) + [s for s in rest if is_prose(s[1])]
