# SPDX-License-Identifier: Apache-2.0
"""The dimensions of a sweep as a grid: keys that vary together, as in a list of points, are one dimension."""

POINT = "point"


def dimensions(table, parameters):
    """{dimension: its keys}, in the order of the parameters. A dimension has the name of a key, or of `point` if no key alone
    identifies its points. table: a column for each parameter."""
    points = table[parameters].drop_duplicates()
    varying = [p for p in parameters if points[p].nunique(dropna=False) > 1]
    free = [p for p in varying if _is_free(points, p, [o for o in varying if o != p])]
    together = [p for p in varying if p not in free]
    name = _name_of(points[together], together, bool(free)) if len(together) > 1 else None
    if name is None:
        return {p: [p] for p in parameters}
    first = together[0]
    return {name if p == first else p: together if p == first else [p] for p in parameters if p == first or p not in together}


def _is_free(points, key, others):
    """True if each value of the key has the same combinations of the others."""
    rest = len(points[others].drop_duplicates()) if others else 1
    return points[key].nunique(dropna=False) * rest == len(points)


def _name_of(points, keys, has_others):
    """None: the keys form no dimension. Keys that all points have come first."""
    number = len(points.drop_duplicates())
    for key in sorted(keys, key=lambda k: bool((points[k] == "").any() or points[k].isna().any())):
        if points[key].nunique(dropna=False) == number:
            return key
    return POINT if has_others else None
