# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration of the handbook. docs/build runs Sphinx on build/docs/tree/docs, a copy of this folder with the
generated pages; its parent has links to the other folders of the source tree, so relative paths resolve in both places."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))

project = "Farfault"
author = "The Farfault authors"
copyright = "The Farfault authors, Apache License 2.0"
version = release = re.search(r"project\(farfault VERSION (\S+)", (HERE.parent / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser", "page_links", "drawing", "theme_files"]
myst_enable_extensions = ["colon_fence", "deflist", "substitution"]
myst_heading_anchors = 4  # the anchors of GitHub, so a link to a heading works in both
myst_substitutions = {"version": version}
exclude_patterns = ["README.md", "tools", "examples/*/README.md"]
nitpicky = True

html_theme = "furo"
html_title = f"Farfault {version}"
html_static_path = ["static"]
html_css_files = ["handbook.css"]
html_copy_source = False
html_extra_path = ["../words.tsv"]  # read by `farfault docs WORD`
# A page opened from a file may not read other files, which summaries of search results need.
html_show_search_summary = False
html_theme_options = {"top_of_page_button": None}
pygments_style = "friendly"
pygments_dark_style = "monokai"

extensions.append("states")  # state diagrams
