"""A run of a study, for the tests of studies."""
import re
import subprocess


def digest(program, run, *how):
    """That of its result, or why there is none."""
    config = run.output.with_suffix(".toml")
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(run.configuration())
    ran = subprocess.run([program, "run", config, "--output", run.output, "--progress", "off", *how], capture_output=True, text=True, timeout=300)
    found = re.search(r"digest ([0-9a-f]{32})", ran.stdout)
    return found[1] if ran.returncode == 0 and found else f"exit code {ran.returncode}: {ran.stderr.strip()[-300:]}"
