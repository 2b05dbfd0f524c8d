#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plants bugs in the executor of page transitions, one at a time, and names the tests of the part alone that find each.

Usage: planted_bugs.py BUILD_FOLDER [NUMBER ...]    compiles and runs tests/components/transition_executor_test.cpp with the executor, from a
                                                    copy of the source with the bug; BUILD_FOLDER: a built preset, such as build/release

Exit code 1 if a bug is not found, or if a test fails without a bug. Takes several minutes, so it is no part of tests/run.
"""
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXECUTOR = "components/paging/src/transition_executor.cpp"
ROWS = "components/paging/include/farfault/paging/page_transition.hpp"
TEST = "tests/components/transition_executor_test.cpp"

# The bug, the file, a text of it, and its replacement.
BUGS = [
    ("left out: invalidate tells no IOMMU", EXECUTOR, "action = tell(p, row_of(p.transition).invalidates, p.from, true);", ""),
    ("early: the transition goes on after the first acknowledgement", EXECUTOR, "return --p.awaited == 0;", "p.awaited = 0;\n  return true;"),
    ("left out: flush", EXECUTOR, "if (!spec_->flush_moving_pages || device_of(p.from) >= kFirstCpu) return false;", "return false;"),
    ("on the wrong device: the host's frames are flushed as well", EXECUTOR,
     "if (!spec_->flush_moving_pages || device_of(p.from) >= kFirstCpu) return false;", "if (!spec_->flush_moving_pages) return false;"),
    ("left out: collapse keeps the copies of others", EXECUTOR, "if (auto const other = memory.take_copy_elsewhere(page, gpu)) {",
     "if (auto const other = std::optional<PhysAddr>{}) {"),
    ("left out: a dropped copy's frame stays taken", EXECUTOR, "        memory.release({*other, 0});\n", ""),
    ("once instead of until none is left: only the latest copy is dropped", EXECUTOR, "        --p.step;  // until none is left\n", ""),
    ("on the wrong device: the writer's copy is dropped instead of the others", EXECUTOR, "memory.take_copy_elsewhere(page, gpu)) {",
     "memory.take_copy_elsewhere(page, device_of(p.from))) {"),
    ("left out: consent is not asked", EXECUTOR, "      if (p.consents == 0) return false;", "      return false;"),
    ("left out: an evicted page ignores its copies", EXECUTOR, "if (auto const copy = memory.hand_over(page)) {",
     "if (auto const copy = std::optional<PhysAddr>{}) {"),
    ("on the wrong device: an evicted page gets a frame on the GPU", EXECUTOR, "ends_on_host(p.transition) ? spec_->devices.cpu() : gpu);", "gpu);"),
    ("twice: a frame is allocated although the client gave one", EXECUTOR, "      if (p.to != kNoFrame) return false;\n", ""),
    ("left out: a full memory is not refused", EXECUTOR, "if (p.to == kNoFrame) {", "if (false) {"),
    ("left out: only the requested base page of a large page is in flight", EXECUTOR,
     "page - first < std::uint64_t{1} << p.size; ++page)", "page - first < 1; ++page)"),
    ("on the wrong page: a message names the requested base page of a large page", EXECUTOR, "const message{.page = p.first_page(),",
     "const message{.page = p.page(),"),
    ("left out: the copy", EXECUTOR, "if (p.in_place != 0 || p.from == kNoFrame) return false;", "return false;"),
    ("twice: contents that are in place are copied", EXECUTOR, "if (p.in_place != 0 || p.from == kNoFrame) return false;",
     "if (p.from == kNoFrame) return false;"),
    ("early: the copy is not awaited", EXECUTOR, "      p.awaited = 1;\n      p.copied = 1;\n", "      p.copied = 1;\n"),
    ("on the wrong device: the old frame is mapped", EXECUTOR, "memory.map(page, {p.to, p.size}, now);", "memory.map(page, {p.from, p.size}, now);"),
    ("left out: release", EXECUTOR, "      memory.release({p.from, p.size});\n", ""),
    ("twice: a kept frame is released", EXECUTOR, "if (p.from == kNoFrame || p.from == p.to) return false;", "if (p.from == kNoFrame) return false;"),
    ("twice: the new frame is announced and confirmed", EXECUTOR, "      if (p.confirms != 0) return false;\n", ""),
    ("left out: the home of a copied page stays writable", EXECUTOR, "action = tell(p, MoveStep::remap, read_only(p.from), false);",
     "action = tell(p, MoveStep::remap, p.from, false);"),
    ("left out: a copy is confirmed writable", EXECUTOR, "tell(p, MoveStep::map_copy, read_only(p.to), true)",
     "tell(p, MoveStep::map_copy, p.to, true)"),
    ("early: confirm is not awaited", EXECUTOR, ": tell(p, MoveStep::map, p.to, true);", ": tell(p, MoveStep::map, p.to, false);"),
    ("left out: the fault is not answered", EXECUTOR, "      action.kind = Kind::answer;\n", ""),
    ("early: a row releases the frame before the flush", ROWS, "{invalidate, drain, flush, unmap, release}", "{invalidate, drain, release, flush, unmap}"),
    ("early: an allocated page enters the table before it is confirmed", ROWS, "{allocate, confirm, map}", "{allocate, map, confirm}"),
    ("left out: a page that cannot keep its frame is refused as one that moves", EXECUTOR, "FF_CHECK(may_keep_frame(p.transition),", "FF_CHECK(true,"),
    ("left out: the GPU that keeps a page does not map it again", EXECUTOR,
     "if (p.answers == 0 || device_of(p.to) != gpu) action.message.gpu = device_of(p.to);", ""),
    ("twice: a GPU whose fault is answered maps the page twice", EXECUTOR,
     "if (p.answers == 0 || device_of(p.to) != gpu) action.message.gpu", "action.message.gpu"),
    ("left out: the home of a copied page does not map it again", EXECUTOR, "      action.message.gpu = device_of(p.from);\n", ""),
    ("left out: a GPU that maps a page with copies remotely may get a copy", EXECUTOR,
     "if (memory.is_shared(page)) memory.add_remote_reader(page, gpu);", ""),
    ("left out: a remote mapping of a page with copies is writable", EXECUTOR,
     "tell(p, MoveStep::map_remote, memory.shown(page, p.from), true);", "tell(p, MoveStep::map_remote, p.from, true);"),
    ("on the wrong device: the home maps the page remotely", EXECUTOR, "        action.message.gpu = gpu;\n", "        action.message.gpu = device_of(p.from);\n"),
    ("early: a transition begins in any state", EXECUTOR, "begins_in(p.transition, memory.state_of(p.page())),", "true,"),
]


def command_of(folder, source):
    """The compiler's words for a source of the same target, without its output and its precompiled header."""
    listed = json.loads(subprocess.run(["ninja", "-C", folder, "-t", "compdb"], capture_output=True, text=True, check=True).stdout)
    target = "CMakeFiles/test_components.dir" if source == TEST else "CMakeFiles/farfault_components.dir"
    entry = next(e for e in listed if target in e["output"] and e["output"].endswith(".o"))
    words, kept = iter(shlex.split(entry["command"])), []
    for word in words:
        if word in ("-o", "-MF", "-MT", "-include"):
            next(words)
        elif word not in ("-MD", "-c", "-Winvalid-pch", "-Werror") and not word.endswith(entry["file"]):
            kept.append(word)
    return kept[1:] if kept[0].endswith("ccache") else kept, entry["directory"]


class Builder:
    def __init__(self, folder, scratch):
        self.folder, self.scratch = folder, scratch

    def compiled(self, source, name, text=None, headers=None):
        """The object of `source`, with another text or other headers in front."""
        words, directory = command_of(self.folder, source)
        file = ROOT / source
        if text is not None:
            file = self.scratch / f"{name}.cpp"
            file.write_text(text)
        front = [f"-I{headers}"] if headers else []
        words = [words[0], *front, *words[1:]]
        output = self.scratch / f"{name}.o"
        subprocess.run([*words, f"-I{ROOT / Path(source).parent}", "-c", file, "-o", output], cwd=directory, check=True)
        return output

    def failed(self, objects):
        """The names of the test cases that fail."""
        program = self.scratch / "test"
        listed = subprocess.run(["ninja", "-C", self.folder, "-t", "commands", "test_components"], capture_output=True, text=True, check=True)
        link = shlex.split(listed.stdout.strip().split("\n")[-1])
        words = [w for w in link if w not in (":", "&&", "-o", "test_components") and not w.endswith(".o")]
        subprocess.run([words[0], *map(str, objects), "-Wl,--allow-multiple-definition", *words[1:], "-o", str(program)], cwd=self.folder, check=True)
        ran = subprocess.run([program, "--no-colors"], capture_output=True, text=True, timeout=300)
        names = re.findall(r"^TEST CASE:\s+(.*(?:\n  .+)*)", ran.stdout, re.M)
        names = [" ".join(n.split()) for n in names]
        if ran.returncode < 0 and not names:
            names = [f"crash with signal {-ran.returncode}"]
        return sorted(set(names))


def main():
    folder = Path(sys.argv[1]).resolve()
    chosen = [int(n) for n in sys.argv[2:]] or range(1, len(BUGS) + 1)
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        builder = Builder(folder, Path(scratch))
        test = builder.compiled(TEST, "sound_test")
        sound = builder.failed([test, builder.compiled(EXECUTOR, "sound")])
        print(f"without a bug: {len(sound)} tests fail", flush=True)
        for number in chosen:
            what, file, text, replacement = BUGS[number - 1]
            source = (ROOT / file).read_text(encoding="utf-8")
            if source.count(text) != 1:
                sys.exit(f"planted_bugs.py: {file} has {source.count(text)} times: {text}")
            changed = source.replace(text, replacement)
            if file == EXECUTOR:
                found = builder.failed([test, builder.compiled(EXECUTOR, "bug", changed)])
            else:
                header = Path(scratch) / "headers/farfault/paging/page_transition.hpp"
                header.parent.mkdir(parents=True, exist_ok=True)
                header.write_text(changed)
                found = builder.failed([builder.compiled(TEST, "bug_test", headers=header.parents[2]),
                                        builder.compiled(EXECUTOR, "bug", headers=header.parents[2])])
            missed += not found
            print(f"{number:2} {what}\n     " + ("; ".join(found) if found else "NOT FOUND"), flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} found")
    return 1 if missed or sound else 0


sys.exit(main())
