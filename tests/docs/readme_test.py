#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README.md's commands run unchanged and print the output that it shows.

readme_test.py [PROGRAM] [--update]

PROGRAM: a file in the build folder to test (tests/run passes build/release/test_docs). A block of output after a block of
commands must be printed, line by line and except for wall-clock times, by the last of these commands. --update replaces
differing lines of README.md by the printed ones.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests/support'))
import checks
from checks import check

README = ROOT / 'README.md'
RUNNABLE = ('bench/demo ', 'build/release/farfault ', 'build/release/test_models ', 'python3 ', 'mpirun ')
MESH = 'usr/share/doc/libmetis-dev/examples/graphs/copter2.graph'


def blocks(text):
    """The fenced blocks as (number of the first line, lines)."""
    lines, inside, begin = text.split('\n'), False, 0
    for number, line in enumerate(lines):
        if line.startswith('```'):
            if inside:
                yield begin, lines[begin:number]
            inside, begin = not inside, number + 1


def label(line):
    """The name at the start of a summary line: '  L1 TLB hits           90.7%' -> 'L1 TLB hits'."""
    match = re.fullmatch(r'  (\S.*?)  +\S.*', line)
    return match.group(1) if match else None


def folder_with(build):
    """A folder in which README's commands run as in the source tree, with separate results."""
    folder = pathlib.Path(tempfile.mkdtemp())
    for name in ('bench', 'tests'):
        (folder / name).symlink_to(ROOT / name)
    (folder / 'build').mkdir()
    (folder / 'build/release').symlink_to(build)
    if (ROOT / 'build/libmetis-doc').exists():
        (folder / 'build/libmetis-doc').symlink_to(ROOT / 'build/libmetis-doc')
    return folder


# Debian's python3 has Debian's libraries. By default mpirun refuses root and more ranks than cores.
ENVIRONMENT = {**os.environ, 'PATH': '/usr/bin:' + os.environ['PATH'], 'PRESET_DIR': 'build/release',
               'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
               'OMPI_MCA_rmaps_base_oversubscribe': '1'}


def run(command, folder):
    return subprocess.run(['bash', '-c', command], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True,
                          timeout=900)


def modules_of(command):
    return re.findall(r'import (\w+)', command) + re.findall(r'engine="(\w+)"', command)


def can_run(command):
    if command.startswith('mpirun'):
        return run('command -v mpirun', ROOT).returncode == 0
    if not command.startswith('python3'):
        return True
    return run(f"python3 -c 'import {', '.join(modules_of(command))}'", ROOT).returncode == 0


def main():
    update = '--update' in sys.argv
    words = [w for w in sys.argv[1:] if w != '--update']
    build = pathlib.Path(words[0] if words else ROOT / 'build/release/x').resolve().parent
    folder = folder_with(build)
    mesh = any(pathlib.Path(p + MESH + z).exists() for p in ('/', f'{ROOT}/build/libmetis-doc/') for z in ('', '.gz'))
    text = README.read_text()
    lines, printed, figures = text.split('\n'), '', {}
    for begin, block in blocks(text):
        if block and block[0].startswith(('  ', 'Bottleneck: ')):
            compare(begin, block, printed, lines, mesh)
            continue
        for command in (c.split('   #')[0] for c in block):
            if not (command + ' ').startswith(RUNNABLE):
                continue
            if not can_run(command):
                print('skipped: a library of README.md\'s command is missing:', command)
                continue
            answer = run(command, folder)
            # diff exits with 1 if results differ.
            expected = 1 if command.startswith('build/release/farfault diff') else 0
            check(answer.returncode == expected,
                  f'{command}: exit code {expected}, not {answer.returncode}: {answer.stderr}')
            printed = answer.stdout
            if command.startswith('bench/demo'):
                figures[command] = {label(l): l for l in printed.split('\n') if label(l)}
    check(len(figures) > 1, 'README.md runs the demo and at least one change of it')
    first = next(iter(figures.values()))
    for other in (f for command, f in figures.items() if ' --set ' in command):
        for name in ('simulated time', 'remote accesses', 'page walks'):
            check(first.get(name) != other.get(name), f'the experiment changes {name}')
    if update:
        README.write_text('\n'.join(lines))
    subprocess.run(['rm', '-rf', folder], check=True)
    print(checks.counts())
    return 1 if checks.failed() else 0


def compare(begin, block, printed, lines, mesh):
    if not mesh:
        print('skipped: the figures of README.md need the mesh of libmetis-doc')
        return
    now = {label(l): l for l in printed.split('\n') if label(l)}
    for offset, shown in enumerate(block):
        name = label(shown)
        if '--update' in sys.argv and name in now:
            lines[begin + offset] = now[name]
        if name is None:  # a table's heading
            check(shown in printed.split('\n'), f'README.md:{begin + offset + 1} shows {shown!r}, which is not printed')
        elif name == 'took':
            check(name in now, 'README.md shows how long the run took')
        else:
            check(now.get(name) == shown, f'README.md:{begin + offset + 1} shows {shown!r}, printed is {now.get(name)!r}')


if __name__ == '__main__':
    sys.exit(main())
