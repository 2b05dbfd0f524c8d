# SPDX-License-Identifier: Apache-2.0
"""Provenance of a study's figures: the mark in its tables, its JSON file and its plots."""
import hashlib
import os
import subprocess
from pathlib import Path

from configuration import StudyError

ROOT = Path(__file__).resolve().parents[2]


class Program:
    """The farfault program of a study, identified by its hash. Results of a different program are rejected."""

    def __init__(self, path):
        self.path = Path(path).resolve()
        if not self.path.is_file() or not os.access(self.path, os.X_OK):
            raise StudyError(f"{path} is not an executable program; build it (cmake --build --preset release) or give another one with --program")
        self.hash = hashlib.sha256(self.path.read_bytes()).hexdigest()
        self.version = subprocess.run([self.path, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        self.built = self._stamp()

    def _stamp(self):
        found = self.path.stat()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def replaced(self):
        """True if the file has changed since the study started, e.g. by a rebuild."""
        try:
            return self._stamp() != self.built
        except OSError:
            return True


def commit():
    """The checked-out commit, with "+" if tracked files outside bench have changed; empty without git."""
    def git(*words):
        ran = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
        return ran.stdout.strip() if ran.returncode == 0 else ""
    try:
        head = git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if head and git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench") else "")
    except OSError:
        return ""


def mark(program, digests, **about):
    """The header of a results.json.xz. `results` changes with any of the runs' result digests, and with nothing else."""
    combined = hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()[:16]
    return {"program": program.version, "program_sha256": program.hash[:16], "checkout": commit(), "runs": len(digests),
            "results": combined, **about}


def sentence(made):
    """The mark as a sentence, for a page or the description of a plot."""
    out = f", checkout {made['checkout']}" if made["checkout"] else ""
    return f"Generated with {made['program']} (SHA-256 {made['program_sha256']}){out}: {made['runs']} runs, digest of all results {made['results']}."
