# SPDX-License-Identifier: Apache-2.0
"""A run of a study, for the tests of studies."""
import hashlib
import re
import subprocess

from configuration import lines_of


def file_of(folder, run):
    """Its result."""
    return folder / f"{hashlib.sha256(run.name.encode()).hexdigest()[:16]}.h5"


def configuration_of(folder, run, **more):
    """Writes the file for `farfault run` with further settings; returns its path."""
    path = file_of(folder, run).with_suffix(".toml")
    path.write_text("\n".join([f'include = ["{run.base}"]', *lines_of(run.all_settings() | more)]) + "\n")
    return path


def identity(run):
    """The run without its name."""
    return "\n".join([run.base, *sorted(lines_of(run.all_settings()))] + ([identity(run.source)] if run.source else []))


def digest_by(command):
    """The digest printed by a run, or the message of its failure."""
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    found = re.search(r"digest ([0-9a-f]{32})", ran.stdout)
    return found[1] if ran.returncode == 0 and found else f"exit code {ran.returncode}: {ran.stderr.strip()[-300:]}"


def digest(program, folder, run, *how):
    """The digest of its result, or the reason of its failure."""
    return digest_by([program, "run", configuration_of(folder, run), "--output", file_of(folder, run), "--progress", "off", *how])
