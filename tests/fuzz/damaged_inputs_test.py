# SPDX-License-Identifier: Apache-2.0
"""Damaged inputs of all kinds: the program must end in time, with exit code 0, 1 or 2 and at most one sentence.

Usage: python3 damaged_inputs_test.py BUILD_FOLDER/anything
The damage is pseudo-random and the same in every run.
"""
import os
import random
import subprocess
import sys
import tempfile

PER_INPUT = 25
CPU_LIMIT_S = 20
TIME_LIMIT_S = 600  # wall-clock time, for a program that only waits
MEMORY_LIMIT_KB = 4 << 20  # of address space, including threads and MPI libraries

farfault = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "farfault")
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
data = os.environ.get("FARFAULT_DATA", os.path.join(source, "..", "shared", "data"))
sanitized = b"__asan_init" in open(farfault, "rb").read()
small = ["--set", "workload.name=stream", "--set", "workload.stream.bytes=16KiB", "--set", "gpu.sms=2",
         "--until", "2 us", "--threads", "1", "--progress", "off"]


def damaged(content, dice):
    content = bytearray(content)
    kind = dice.randrange(5)
    if kind == 0:
        return content[:dice.randrange(len(content))]
    for _ in range(dice.randrange(1, 9)):
        at = dice.randrange(len(content))
        if kind == 1:
            content[at] ^= 1 << dice.randrange(8)
        elif kind == 2:
            content[at] = dice.choice(b"\0\xff\"'<>[]{}=.,-9#\n %&;")
        elif kind == 3:
            end = min(len(content), at + dice.randrange(1, 200))
            content[at:at] = content[at:end]
        else:
            del content[at:at + dice.randrange(1, 60)]
            if not content:
                return content
    return content


def limits():
    import resource
    if not sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_KB * 1024,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S,) * 2)


# `most`: maximum sentences of a refusal. An invalid configuration reports all errors together, one sentence each.
def fault_of(command, most):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIME_LIMIT_S,
                              preexec_fn=limits)
    except subprocess.TimeoutExpired:
        return f"took over {TIME_LIMIT_S} s"
    if done.returncode not in (0, 1, 2):
        return f"exit code {done.returncode}: {done.stderr[-2000:].decode(errors='replace')}"
    lines = done.stderr.splitlines()
    if done.returncode == 2 and not (1 <= len(lines) <= most and all(line.startswith(b"farfault: ") for line in lines)):
        return f"not 1 to {most} sentences: {done.stderr[:500]!r}"
    if done.returncode != 2 and b"unexpected" in done.stderr:
        return f"an exception of a library: {done.stderr[:500]!r}"
    return None


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        result = os.path.join(scratch, "result.h5")
        subprocess.run([farfault, "run", "paper-gmmu-bypass", *small, "--output", result], check=True,
                       stdout=subprocess.DEVNULL)
        subject = os.path.join(scratch, "subject")
        output = os.path.join(scratch, "out.h5")
        run = [farfault, "run", "--output", output]
        inspect = [farfault, "inspect", subject, "--json"]
        machine = [*run, "paper-gmmu-bypass", *small, "--set", "machine.topology=" + subject]
        graph = [*run, "paper-gmmu-bypass", *small, "--set", "workload.name=bfs"]
        graph = [w for w in graph if w not in ("workload.stream.bytes=16KiB",)]
        del graph[graph.index("gpu.sms=2") - 2]  # the --set whose word is missing
        graph += ["--set", "workload.bfs.graph=" + subject]
        inputs = [
            ("configuration", os.path.join(source, "topologies/presets/paper-gmmu-bypass.toml"),
             [[*run, subject, *small]]),
            ("machine in TOML", os.path.join(source, "topologies/machines/two-gpu.toml"), [machine]),
            ("machine in NCCL XML", os.path.join(data, "topologies/ndv2-topo.xml"), [machine, inspect]),
            ("machine in hwloc XML", os.path.join(data, "topologies/nvidiaDGX2.xml"), [inspect]),
            ("graph", os.path.join(data, "graphs/chesapeake.mtx"), [graph, inspect]),
            ("graph in METIS format", os.path.join(data, "graphs/power.graph"), [inspect]),
            ("compressed graph", os.path.join(data, "graphs/cit-HepTh.mtx.gz"), [inspect]),
            ("result", result, [inspect, [farfault, "validate", subject], [farfault, "diff", subject, result],
                                [farfault, "report", subject, "-o", os.path.join(scratch, "report.html")]]),
        ]
        for name, path, commands in inputs:
            if not os.path.exists(path):
                print(f"skipped: {name}: no {path}")
                continue
            with open(path, "rb") as file:
                content = file.read()
            dice = random.Random(name)
            faults = []
            for i in range(PER_INPUT):
                with open(subject, "wb") as file:
                    file.write(damaged(content, dice))
                fault = fault_of(commands[i % len(commands)], 40 if name == "configuration" else 1)
                if fault:
                    keep = os.path.join(tempfile.gettempdir(), f"farfault-damaged-{name.replace(' ', '-')}-{i}")
                    os.replace(subject, keep)
                    faults.append(f"FAILED: {name}, damage {i}, kept as {keep}: {fault}")
            print("\n".join(faults) if faults else f"{name}: {PER_INPUT} times")
            passed += not faults
            failed += bool(faults)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
