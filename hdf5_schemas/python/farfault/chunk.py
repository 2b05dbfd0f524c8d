# SPDX-License-Identifier: Apache-2.0
"""Unpacks a chunk of a dataset. The size of the chunk bounds the memory, not the compressed data."""
import zlib

import numpy


class Damaged(Exception):
    pass


def unpacked(data, size, dtype, deflated, shuffled):
    """The values of a chunk with an unpacked size of `size` bytes."""
    if deflated:
        data = _inflated(data, size)
    if len(data) != size:
        raise Damaged(f"holds {len(data)} bytes instead of {size}")
    if shuffled and dtype.itemsize > 1:
        data = numpy.frombuffer(data, "u1").reshape(dtype.itemsize, -1).T.tobytes()
    return numpy.frombuffer(data, dtype)


def _inflated(data, size):
    stream = zlib.decompressobj()
    try:
        found = stream.decompress(data, size)
        more = stream.decompress(stream.unconsumed_tail, 1)
    except zlib.error as problem:
        raise Damaged(f"cannot be inflated: {problem}") from None
    if more or not stream.eof:
        raise Damaged(f"does not end after {size} bytes")
    return found
