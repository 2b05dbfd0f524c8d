# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with files, and with what is asked of them."""


class ResultError(ValueError):
    """A file is no result that this package reads, or does not hold what was asked for: one sentence."""


def unknown(path, what, name, there, so_far=False):
    """The error for a name that is not in the file (so far, where the run has not ended): says which names are."""
    listed = ", ".join(there) if len(there) else "none"
    return ResultError(f"{path}: it has no {what} {name!r}; there are{' so far' if so_far else ''}: {listed}")
