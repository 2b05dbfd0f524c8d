# SPDX-License-Identifier: Apache-2.0
"""An extension of Sphinx: makes Debian's furo work from files.

Debian's package has its script as a module, which browsers do not load from a file. Its style sheet refers to a folder of a web server and
lacks the dark colours of browsers that prefer them. The finished site gets one plain script and one complete style sheet.
"""
import pathlib
import re

IMPORT = re.compile(r'^import \w+ from "\./([\w.-]+)";\n', re.MULTILINE)
FOREIGN = re.compile(r"^@import url\((/javascript/[^)]+)\);\n", re.MULTILINE)

DARK = re.compile(r'^ *body\[data-theme="dark"\] \{([^}]*)\}', re.MULTILINE)


def complete(app, exception):
    static = pathlib.Path(app.outdir) / "_static"
    script, style = static / "scripts/furo.js", static / "styles/furo.css"
    if exception or not script.exists():
        return
    text = script.read_text(encoding="utf-8")
    parts = [(script.parent / name).read_text(encoding="utf-8") for name in IMPORT.findall(text)]
    if parts:
        script.write_text("\n".join([*parts, IMPORT.sub("", text)]), encoding="utf-8")
    text = style.read_text(encoding="utf-8")
    for path in FOREIGN.findall(text):
        text = text.replace(f"@import url({path});\n", pathlib.Path("/usr/share" + path).read_text(encoding="utf-8"))
    if "prefers-color-scheme" not in text:
        for colours in DARK.findall(text):
            text += '@media not print { @media (prefers-color-scheme: dark) { body:not([data-theme="light"]) {' + colours + "} } }\n"
    style.write_text(text, encoding="utf-8")


def setup(app):
    app.connect("build-finished", complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
