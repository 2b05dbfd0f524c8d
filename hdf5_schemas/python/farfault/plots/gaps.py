# SPDX-License-Identifier: Apache-2.0
"""Reasons of missing values, as notes below a plot."""
import textwrap

from ..errors import in_one_line

# Maximum notes below a plot.
NOTES = 8


class Gaps:
    """sign: before each reason; {} in it is the reason's number."""

    def __init__(self, sign):
        self._sign, self._numbers = sign, {}

    def number(self, reason):
        """The number of a reason. Equal reasons have one."""
        return self._numbers.setdefault(in_one_line(reason), len(self._numbers) + 1)

    def mark(self, axes, x, reason):
        """Marks a missing value with the number of its reason, at the lower end of the axes."""
        axes.text(x, 0.015, self._sign.format(self.number(reason)).strip(), transform=axes.get_xaxis_transform(), ha="center", va="bottom", rotation=90,
                  fontsize=axes.figure.style.sizes.small, color="0.3")

    def write(self, figure):
        """The notes, below the plot."""
        notes = [self._sign.format(number) + reason for reason, number in self._numbers.items()]
        if len(notes) > NOTES:
            notes = [*notes[:NOTES], f"... ({len(notes)} reasons in all)"]
        if not notes:
            return
        size = figure.style.sizes.small
        letters = max(30, int(72 * figure.get_figwidth() / (0.5 * size)))
        text = "\n".join(textwrap.fill(note, letters, subsequent_indent="    ") for note in notes)
        figure.supxlabel(text.replace("$", r"\$"), x=0.01, ha="left", fontsize=size)
        if figure.style.width is not None:  # room for the notes
            figure.set_figheight(figure.get_figheight() + (text.count("\n") + 1) * 1.3 * size / 72)
