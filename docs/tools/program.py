# SPDX-License-Identifier: Apache-2.0
"""What a farfault program lists about itself. The only file that knows the form of its output."""
import collections
import json
import os
import re
import subprocess
import sys

Parameter = collections.namedtuple("Parameter", "key unit default range text source page anchor choices")
Choice = collections.namedtuple("Choice", "name text")
Section = collections.namedtuple("Section", "name text")
Statistic = collections.namedtuple("Statistic", "path unit kind text")
Command = collections.namedtuple("Command", "name text help")


class Program:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.name = os.path.basename(self.path)

    def said(self, *words):
        done = subprocess.run([self.path, *words], capture_output=True, text=True, env={**os.environ, "COLUMNS": "1000"})
        if done.returncode != 0:
            sys.exit(done.stderr.rstrip() or f"{self.path} {' '.join(words)} exited with code {done.returncode}")
        return done.stdout

    def parameters(self):
        listed = json.loads(self.said("params", "--json"))["parameters"]
        found = []
        for p in listed:
            choices = [Choice(c["name"], c["text"]) for c in p.get("choices", [])]
            page, _, anchor = p["page"].partition(".html#")
            found.append(Parameter(p["key"], p["unit"], p["default"], p["range"], p["text"], p["source"], page, anchor, choices))
        return found

    def sections(self):
        """The sections of parameters with their titles: lines '[gpu.sm] Streaming multiprocessors'."""
        return [Section(*m.groups()) for m in re.finditer(r"^\[(\S+)\] (.*)$", self.said("params"), re.MULTILINE)]

    def statistics(self, config):
        return [Statistic(s["path"], s["unit"], s.get("kind", "column"), s["text"])
                for s in json.loads(self.said("statistics", config, "--json"))["statistics"]]

    def table_texts(self, config):
        """{table: description}: lines '/tables/kernels: Completed kernels'."""
        return dict(re.findall(r"^/tables/(\S+): (.*)$", self.said("statistics", config), re.MULTILINE))

    def workloads(self):
        """From the list without --json, which builds every size of every workload."""
        return [Choice(*m.groups()) for m in re.finditer(r"^  (\S+) {2,}(\S.*)$", self.said("workloads"), re.MULTILINE)]

    def commands(self):
        listed = re.findall(r"^  ([a-z]+) {2,}(\S.*)$", self.said("--help").split("Subcommands:")[1], re.MULTILINE)
        return [Command(name, text, self.said(name, "--help")) for name, text in listed]
