# SPDX-License-Identifier: Apache-2.0
"""Display names and colours, shared with the reports and with `farfault explain`: palette.json.

Stages and activities are in the order in which they are stacked. All colours of a list differ with red-green colour blindness.
"""
import json
from importlib import resources

_palette = json.loads(resources.files(__package__).joinpath("palette.json").read_text("utf-8"))

# {key: display name}.
STAGES = {part["key"]: part["name"] for part in _palette["stages"]}
ACTIVITIES = {part["key"]: part["name"] for part in _palette["activities"]}
OUTSTANDING, SWAPPED_OUT = ({_palette[part]["key"]: _palette[part]["name"]} for part in ("outstanding", "swapped_out"))
_parts = [*_palette["stages"], _palette["outstanding"], *_palette["activities"], _palette["swapped_out"]]
NAMES = {part["key"]: part["name"] for part in _parts}
COLOURS = {part["key"]: part["colour"] for part in _parts}
# Colours of lines, in order.
LINES = tuple(_palette["lines"])
# Red, green and blue (0 to 255) of the lowest and highest value of a heat map.
SHADES = tuple(map(tuple, _palette["shades"]))
