# SPDX-License-Identifier: Apache-2.0
"""Public calls: each returns a result or raises one ResultError, and loads at most `max_bytes`.

`@whole_calls` wraps every public method and property of a class whose objects have `path` and `max_bytes`. The wrapper
- converts errors of HDF5, numpy, pandas and xarray, and lack of memory, into a ResultError;
- passes errors of the caller through: a wrong signature, Misuse, Misplaced, a missing library;
- starts the byte count of the outermost call, to which `charge` adds.
"""
import contextlib
import contextvars
import functools
import inspect
import os

from .errors import Misplaced, Misuse, ResultError, in_one_line

# Default of max_bytes. Numbers count 8 bytes, texts count with their Python objects.
MAX_BYTES = 512 << 20
# Public methods whose names begin with an underscore.
SPECIAL = ("__init__", "__enter__", "__exit__", "__iter__", "__repr__", "__call__")

_outermost = contextvars.ContextVar("the outermost call of the package", default=None)


class _Count:
    def __init__(self, whose, loaded):
        self.whose, self.loaded = whose, loaded


@contextlib.contextmanager
def whole_call(whose, loaded_before=0):
    """loaded_before: bytes loaded by earlier calls that the same object still holds."""
    began = _outermost.set(_Count(whose, loaded_before)) if _outermost.get() is None else None
    try:
        yield
    except (ResultError, Misuse, Misplaced, ImportError):
        raise
    except MemoryError:
        raise ResultError(f"{_path(whose)}: reading it takes more memory than this process may use") from None
    except RecursionError:
        raise ResultError(f"{_path(whose)}: it is damaged: its data are nested too deeply") from None
    except Exception as problem:
        raise ResultError(f"{_path(whose)}: it is damaged: {in_one_line(problem) or type(problem).__name__}") from None
    finally:
        if began is not None:
            _outermost.reset(began)


def charge(size, what):
    """Adds bytes that the caller is about to load. Raises a ResultError above the limit of the outermost call."""
    count = _outermost.get() or _Count(None, 0)
    count.loaded += size
    limit = getattr(count.whose, "max_bytes", MAX_BYTES)
    if count.loaded > limit:
        raise ResultError(f"{_path(count.whose)}: with {in_one_line(what)} this call would load {count.loaded} bytes, but "
                          f"max_bytes is {limit}; read less, or open the file with a larger max_bytes")


def _path(whose):
    return getattr(whose, "path", "farfault")  # __init__ reads nothing before it sets the path


@contextlib.contextmanager
def counted_apart():
    """Calls inside are outermost calls, each with its own byte count."""
    before = _outermost.set(None)
    try:
        yield
    finally:
        _outermost.reset(before)


def checked_limit(max_bytes):
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes <= 0:
        raise Misuse(f"max_bytes must be a positive integer, not {max_bytes!r}")
    return max_bytes


def checked_path(path):
    try:
        return os.fsdecode(path)
    except TypeError as problem:
        raise Misuse(str(problem)) from None


def names_of(names, what):
    """The names passed by the caller, as a list. A single text is one name."""
    if isinstance(names, str):
        return [names]
    try:
        return list(names)
    except TypeError:
        raise Misuse(f"{what} must be a list of names, not {type(names).__name__}") from None


def whole_calls(cls):
    for name, value in list(vars(cls).items()):
        if name.startswith("_") and name not in SPECIAL:
            continue
        if isinstance(value, property):
            setattr(cls, name, property(_wrapped(value.fget), doc=value.__doc__))
        elif inspect.isfunction(value):
            setattr(cls, name, _wrapped(value))
    return cls


def _wrapped(function):
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(self, *args, **kwargs):
        signature.bind(self, *args, **kwargs)  # a wrong signature stays a TypeError
        with whole_call(self):
            return function(self, *args, **kwargs)
    return call
