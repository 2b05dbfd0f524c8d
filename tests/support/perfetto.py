# SPDX-License-Identifier: Apache-2.0
"""Reads a Perfetto trace like trace_processor: strict wire format, slices by stack, names by number.

read(path) -> Trace, or ValueError with the defect.
"""
import collections

Slice = collections.namedtuple("Slice", "ts dur name track depth parent flows args")


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number is truncated")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """(field, value) of a message: numbers unchanged, length-delimited fields as bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        field, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {wire}")
        if at > len(data):
            raise ValueError("a message is truncated")
        yield field, value


def message(data, once, repeated=()):
    """A message as a dictionary with the given field names. An unknown field is an error."""
    found = {name: [] for name in dict(repeated).values()}
    once, repeated = dict(once), dict(repeated)
    for field, value in fields(data):
        if field in repeated:
            found[repeated[field]].append(value)
        elif field in once and once[field] not in found:
            found[once[field]] = value
        else:
            raise ValueError(f"field {field} is unknown or repeated")
    return found


PACKET = {8: "timestamp", 10: "sequence", 11: "event", 12: "interned", 13: "flags", 60: "descriptor", 15000: "checksum"}.items()
DESCRIPTOR = {1: "uuid", 2: "name", 3: "process", 5: "parent", 8: "counter"}.items()
EVENT = {9: "type", 10: "name", 11: "track", 30: "counter"}.items(), {4: "annotations", 47: "flows"}.items()
ANNOTATION = {1: "name", 3: "number", 6: "text"}.items()
BEGIN, END, COUNT = 1, 2, 4


class Trace:
    def __init__(self, data):
        self.size = len(data)
        self.processes = {}  # uuid -> name
        self.tracks = {}  # uuid -> (process uuid, name)
        self.counters = {}  # uuid -> (process uuid, name, unit)
        self.slices = []
        self.values = collections.defaultdict(list)  # counter uuid -> [(ts, value)]
        names, notes, open_slices, last = {}, {}, collections.defaultdict(list), 0
        cleared = False
        for field, packet in fields(data):
            if field != 1:
                raise ValueError("not a packet")
            p = message(packet, PACKET)
            if p.get("sequence") != 1:
                raise ValueError("a packet without a sequence")
            if p.get("flags") == 1:
                names, notes, cleared = {}, {}, True
            if "interned" in p:
                i = message(p["interned"], (), {2: "events", 3: "annotations"}.items())
                for known, entries in ((names, i["events"]), (notes, i["annotations"])):
                    for entry in entries:
                        e = message(entry, {1: "number", 2: "name"}.items())
                        if e["number"] in known or e["number"] == 0:
                            raise ValueError("a name's number is already used")
                        known[e["number"]] = e["name"].decode("utf-8")
            if "descriptor" in p:
                self._describe(message(p["descriptor"], DESCRIPTOR))
            if "event" not in p:
                continue
            e, at = message(p["event"], *EVENT), p["timestamp"]
            if at < last:
                raise ValueError("times decrease")
            last, track = at, e["track"]
            if e["type"] == COUNT:
                if track not in self.counters:
                    raise ValueError("a value without a counter")
                self.values[track].append((at, e["counter"]))
                continue
            if track not in self.tracks:
                raise ValueError("a slice without a track")
            stack = open_slices[track]
            if e["type"] == BEGIN:
                if p.get("flags") != 2 or not cleared:
                    raise ValueError("a number instead of a name, without a packet that allows it")
                args = {}
                for a in e["annotations"]:
                    a = message(a, ANNOTATION)
                    args[notes[a["name"]]] = a["text"].decode("utf-8") if "text" in a else a["number"]
                self.slices.append(None)
                stack.append((len(self.slices) - 1, at, names[e["name"]], stack[-1][0] if stack else None,
                              tuple(e["flows"]), args))
            elif e["type"] == END:
                if not stack:
                    raise ValueError("an end without a begin")
                number, begun, name, parent, flows, args = stack.pop()
                self.slices[number] = Slice(begun, at - begun, name, track, len(stack), parent, flows, args)
            else:
                raise ValueError(f"an event has the unknown type {e['type']}")
        if any(open_slices.values()):
            raise ValueError("a slice has no end")

    def _describe(self, d):
        uuid = d["uuid"]
        if uuid == 0 or uuid in self.processes or uuid in self.tracks or uuid in self.counters:
            raise ValueError("a track is described twice")
        if "process" in d:
            about = message(d["process"], {1: "pid", 6: "name"}.items())
            self.processes[uuid] = about["name"].decode("utf-8")
            return
        if d["parent"] not in self.processes:
            raise ValueError("a track without a process")
        if "counter" in d:
            c = message(d["counter"], {3: "unit", 6: "unit_name"}.items())
            unit = {2: "count", 3: "bytes"}[c["unit"]] if "unit" in c else c["unit_name"].decode("utf-8")
            self.counters[uuid] = (d["parent"], d["name"].decode("utf-8"), unit)
        else:
            self.tracks[uuid] = (d["parent"], d["name"].decode("utf-8"))

    def component(self, track):
        """The component path of a track."""
        process, name = (self.tracks.get(track) or self.counters[track])[:2]
        return f"{self.processes[process]}.{name}"


def read(path):
    with open(path, "rb") as file:
        return Trace(file.read())
