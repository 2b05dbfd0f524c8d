# SPDX-License-Identifier: Apache-2.0
"""Hostile results: copies of a sound result with one change each.

A change gets the open copy, the path of an object in it, and the Secrets, which no reader may read. This file has links,
storage in other files and whole files; hostile_contents.py has sizes, types and texts.
"""
import os
import shutil
from typing import NamedTuple

from package_tests import copy, h5py, numpy

MARKER = b"ZQXJZQXJ"
# Objects that the package reads.
GROUPS = ("config", "config/inputs", "topology", "topology/nodes", "topology/links", "summary", "summary/machine", "summary/gpu", "timeseries",
          "timeseries/sm.by_gpu", "timeseries/l2_tlb", "tables", "tables/kernels", "tables/traffic", "engine")
TEXTS = ("config/toml", "config/command_line", "topology/nodes/name", "topology/nodes/kind", "summary/gpu/name", "timeseries/sm.by_gpu/instance",
         "timeseries/l2_tlb/instance", "tables/kernels/name", "tables/traffic/from", "tables/links/sender", "tables/page_placement/buffer",
         "engine/host")
NUMBERS = ("topology/links/a", "topology/links/latency_ps", "summary/machine/end", "summary/gpu/sm_access_time", "timeseries/sm.by_gpu/time_in_walk",
           "timeseries/sm.by_gpu.histograms/load_latency", "timeseries/sm.by_gpu/time_ps", "timeseries/l2_tlb/hits", "tables/kernels/launched",
           "tables/kernels/row", "tables/traffic/bytes", "tables/links/busy_time", "tables/page_placement/pages", "config/seed")
DATASETS = TEXTS + NUMBERS
PLACES = GROUPS + DATASETS


class Secrets(NamedTuple):
    text: str    # repeats MARKER
    result: str  # a result in which all texts and numbers are MARKER
    fifo: str


def secrets(folder, sound):
    text, fifo = os.path.join(folder, "secret.txt"), os.path.join(folder, "fifo")
    with open(text, "wb") as f:
        f.write(MARKER * 50_000)
    os.mkfifo(fifo)
    result = copy(sound, "secret.h5")
    with h5py.File(result, "r+") as f:
        f.visititems(lambda name, item: _mark(item) if isinstance(item, h5py.Dataset) else None)
    return Secrets(text, result, fifo)


def _mark(d):
    if d.size:
        d[...] = MARKER[:d.dtype.itemsize] if d.dtype.kind == "S" else numpy.frombuffer(MARKER, d.dtype)[0]


def hostile(sound, path, change, place, s):
    shutil.copy(sound, path)
    with h5py.File(path, "r+") as f:
        change(f, place, s)
    return path


def replaced(f, place, **how):
    """A new dataset that replaces the old one, with its attributes and scales."""
    old = f[place]
    how = {"shape": old.shape, "dtype": old.dtype} | how
    attributes = {n: old.attrs[n] for n in old.attrs if n not in ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME")}
    scales, named = [d[0].name if len(d) else None for d in old.dims], "CLASS" in old.attrs
    users = [(f[r].name, axis) for r, axis in old.attrs["REFERENCE_LIST"] if f[r].name] if "REFERENCE_LIST" in old.attrs else []
    for user, axis in users:
        f[user].dims[axis].detach_scale(old)
    for dim, scale in zip(old.dims, scales):
        if scale is not None:
            dim.detach_scale(f[scale])
    del f[place]
    new = f.create_dataset(place, **how)
    new.attrs.update(attributes)
    if named:
        new.make_scale(place.rsplit("/", 1)[-1])
    for user, axis in users:
        f[user].dims[axis].attach_scale(new)
    for dim, scale in zip(new.dims, scales):
        if scale is not None:
            dim.attach_scale(f[scale])
    return new


def low_level(f, place, kind, shape, properties=None):
    """A new dataset with a type and properties that h5py's own interface does not offer."""
    del f[place]
    space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
    return h5py.h5d.create(f.id, place.encode(), kind, space, properties)


# Links.
def external_link(f, place, s):
    del f[place]
    f[place] = h5py.ExternalLink(s.result, place)


def external_link_to_a_fifo(f, place, s):
    del f[place]
    f[place] = h5py.ExternalLink(s.fifo, place)


def soft_link(f, place, s):
    f.move(place, "elsewhere")
    f[place] = h5py.SoftLink("/elsewhere")


def soft_link_to_an_external_one(f, place, s):
    del f[place]
    f["hop"] = h5py.ExternalLink(s.result, place)
    f[place] = h5py.SoftLink("/hop")


def soft_link_through_an_external_one(f, place, s):
    del f[place]
    f["door"] = h5py.ExternalLink(s.result, "/")
    f[place] = h5py.SoftLink(f"/door/{place}")


def second_name(f, place, s):
    f["another"] = f[place]


def cycle(f, place, s):
    """The parent group becomes a member of itself."""
    parent = f[place].parent
    parent["cycle"] = parent


LINKS = (external_link, external_link_to_a_fifo, soft_link, soft_link_to_an_external_one, soft_link_through_an_external_one, second_name, cycle)


# Values in other files.
def external_storage(f, place, s):
    _external(f, place, s.text)


def external_storage_on_a_fifo(f, place, s):
    _external(f, place, s.fifo)


def _external(f, place, file):
    old = f[place]
    if old.shape:
        return replaced(f, place, external=[(file, 0, _bytes(old))])
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_external(file.encode(), 0, _bytes(old))
    return low_level(f, place, h5py.h5t.py_create(old.dtype), (), properties)


def virtual(f, place, s):
    _virtual(f, place, s.result)


def virtual_on_a_fifo(f, place, s):
    _virtual(f, place, s.fifo)


def virtual_and_unlimited(f, place, s):
    """HDF5 opens the source to get the shape."""
    old = f[place]
    if old.ndim != 1:
        return virtual_on_a_fifo(f, place, s)
    source = h5py.VirtualSource(s.fifo, place, old.shape, old.dtype, maxshape=(None,))
    layout = h5py.VirtualLayout(old.shape, old.dtype, maxshape=(None,))
    layout[0:h5py.h5s.UNLIMITED] = source[0:h5py.h5s.UNLIMITED]
    _put(f, place, layout)


def _virtual(f, place, file):
    old = f[place]
    layout = h5py.VirtualLayout(old.shape or (1,), old.dtype)
    layout[...] = h5py.VirtualSource(file, place, old.shape or (1,), old.dtype)
    _put(f, place, layout)


def _put(f, place, layout):
    del f[place]
    f.create_virtual_dataset(place, layout)


def _bytes(d):
    return max(1, d.size) * d.dtype.itemsize


ELSEWHERE = (external_storage, external_storage_on_a_fifo, virtual, virtual_on_a_fifo, virtual_and_unlimited)


def with_user_block(sound, path):
    with open(sound, "rb") as f, open(path, "wb") as to:
        to.write(MARKER.lower() * 64 + f.read())
    return path


def cut_in_the_middle(sound, path):
    shutil.copy(sound, path)
    os.truncate(path, os.path.getsize(path) // 2)
    return path


def a_hole_of_a_terabyte(sound, path):
    """A sparse file: 1 TB long, 0.5 MB allocated."""
    shutil.copy(sound, path)
    os.truncate(path, 1 << 40)
    return path

