# SPDX-License-Identifier: Apache-2.0
"""farfault params --schema: editors accept and refuse what a run accepts and refuses.

Usage: python3 schema_test.py BUILD_FOLDER/anything. Skipped without python3-jsonschema.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is missing")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from checks import check, counts  # noqa: E402

farfault = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "farfault")


def asked(*words):
    return subprocess.run([farfault, *words], capture_output=True, text=True)


printed = asked("params", "--schema")
check(printed.returncode == 0 and printed.stderr == "", f"a schema is printed, not: {printed.stderr}")
schema = json.loads(printed.stdout)
check(schema["$schema"] == "http://json-schema.org/draft-07/schema#", "the schema names its draft")
jsonschema.Draft7Validator.check_schema(schema)
jsonschema.Draft4Validator.check_schema(schema)  # the draft that Taplo documents
validator = jsonschema.Draft7Validator(schema)


def mistakes(text):
    return [f"{'.'.join(map(str, e.absolute_path))}: {e.message[:120]}" for e in validator.iter_errors(tomllib.loads(text))]


# Every configuration of the repository is valid: presets, studies' parts, examples, and blocks of the handbook that include a preset.
files = [*ROOT.glob("topologies/presets/*.toml"), ROOT / "bench/demo.toml", *ROOT.glob("bench/studies/*/designs/*.toml"),
         *ROOT.glob("bench/studies/*/workloads/*.toml"), ROOT / "docs/examples/first_run/run.toml"]
texts = {str(f.relative_to(ROOT)): f.read_text(encoding="utf-8") for f in files}
for page in sorted((ROOT / "docs").rglob("*.md")):
    for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)):
        if block.startswith("include"):
            texts[f"{page.relative_to(ROOT)}, block {number}"] = block
check(len(texts) >= 36 and any(name.startswith("docs/guide/applications.md") for name in texts), f"{len(texts)} configurations")
for name, text in texts.items():
    check(mistakes(text) == [], f"{name} is valid: {mistakes(text)}")

# Every parameter has its place, its default, and the texts of its choices.
listed = json.loads(asked("params", "--json").stdout)["parameters"]
everything = {}
by_unit = {}


# A configuration has an array of each of these sections: its elements are definitions.
ARRAYS = ("application", "gpu.translation.level")


def array_of(key):
    return next((name for name in ARRAYS if key.startswith(name + ".")), None)


def at(key):
    """The schema of a key."""
    array = array_of(key)
    node = schema["definitions"][array] if array else schema
    for part in key.removeprefix(f"{array}.").split("."):
        node = node["properties"][part]
        while "$ref" in node:
            node = schema["definitions"][node["$ref"].rpartition("/")[2]]
    return node


def value_of(p):
    """A default as TOML and JSON have it."""
    text = p["default"]
    if p["unit"] in ("count", "number"):
        return json.loads(text)
    return text == "true" if p["unit"] == "true or false" else text


for p in listed:
    node = at(p["key"])
    names = [c["name"] for c in p.get("choices", [])]
    check(p["source"] in node["description"], f"{p['key']}: its description names the source")
    check(all(c in node["description"] for c in p["only_with"]), f"{p['key']}: its description has its conditions")
    default = None if p["default"] == "" else value_of(p)
    check(node.get("default") == default, f"{p['key']}: its default is {default}, not {node.get('default')}")
    if p["unit"] == "name":
        check(node["enum"] == names, f"{p['key']}: its choices are {names}")
        check([text or "" for text in node["x-taplo"]["docs"]["enumValues"]] == [c["text"] for c in p["choices"]],
              f"{p['key']}: each choice has its text")
    if array_of(p["key"]):
        continue
    by_unit.setdefault(p["unit"], p["key"])
    table = everything
    *path, last = p["key"].split(".")
    for part in path:
        table = table.setdefault(part, {})
    table[last] = value_of(p)
check(list(validator.iter_errors(everything)) == [], "every default is valid")

# The units of times, sizes, rates and frequencies are the program's.
for unit in ("time", "bytes", "bytes/s", "Hz"):
    refused = asked("statistics", "paper-gmmu-bypass", "--set", f"{by_unit[unit]}=1 x").stderr
    known = re.search(r"\(units: (.*)\)", refused)
    found = re.search(r"\((\w[^()]*)\)\[ ", at(by_unit[unit])["pattern"])
    check(known and found and known[1].split(", ") == [u for u in found[1].split("|") if u.isascii()],
          f"units of {unit}: {refused.strip()}; {at(by_unit[unit])['pattern']}")

# An editor and a run refuse the same mistakes.
START = 'include = ["paper-gmmu-bypass"]\n'
APPLICATION = START + '[[application]]\nworkload = "vectoradd"\nvectoradd.elements = 1024\n'
refused_by_both = {
    "an unknown key": START + "[gpu.l2_tlb]\nentires = 512\n",
    "an unknown table": START + "[gpu.l3_tlb]\nentries = 512\n",
    "a parameter of another policy": START + "[memory.interleave]\nmap = 'x'\n",
    "an unknown key at the top": START + "seed = 1\n",
    "text for a count": START + "[gpu.l2_tlb]\nentries = 'many'\n",
    "a fraction for a count": START + "[gpu.l2_tlb]\nentries = 1.5\n",
    "a count in quotes": START + "[gpu.l2_tlb]\nentries = '512'\n",
    "a count below its range": START + "[gpu.l2_tlb]\nmshrs = 0\n",
    "a count above its range": START + "[gpu.l2_tlb]\nmshrs = 4097\n",
    "a number outside its range": START + "[memory]\ngpu_share = 1.5\n",
    "a flag in quotes": START + "[iommu]\nmerge = 'true'\n",
    "an unknown choice": START + "[memory]\nplacement = 'interleaved'\n",
    "a choice without quotes": START + "[workload]\nname = 'sgemm'\n[workload.sgemm]\ntile = 16\n",
    "a time without a unit": START + "[run]\nsample_interval = 10\n",
    "an unknown unit": START + "[run]\nsample_interval = '10 minutes'\n",
    "an ambiguous unit": START + "[memory]\npage_size = '4 KB'\n",
    "an array for a value": START + "[gpu.l2_tlb]\nentries = [512, 1024]\n",
    "include without an array": "include = 'paper-gmmu-bypass'\n",
    "a number in include": "include = [1]\n",
    "an unknown workload": START + "[workload]\nname = 'vectorad'\n",
    "an unknown parameter of a workload": START + "[workload.vectoradd]\nelement = 1024\n",
    "an unknown parameter of an application": APPLICATION + "sm = 4\n",
    "an unknown workload of an application": START + "[[application]]\nworkload = 'vectorad'\n",
    "an unknown parameter of an application's workload": APPLICATION + "bfs.graf = 'x'\n",
    "an unknown key of a level": 'include = ["gpu-a100"]\n[[gpu.translation.level]]\nname = "first_tlb"\nentires = 16\n',
    "a fraction for a level's banks": 'include = ["gpu-a100"]\n[[gpu.translation.level]]\nname = "first_tlb"\nbanks = 1.5\n',
    "an unknown hash of a level": 'include = ["gpu-a100"]\n[[gpu.translation.level]]\nname = "first_tlb"\nhash = "none"\n',
    "no application": START + "application = []\n",
}
accepted_by_both = {
    "levels of translation": 'include = ["gpu-a100"]\n[[gpu.translation.level]]\nname = "first_tlb"\nsms = 2\n'
                             '[[gpu.translation.level]]\nname = "second_tlb"\nbanks = 4\nhash = "xor"\n',
    "another notation": START + "[run]\nsample_interval = ' 1.5us'\n[links]\n[workload]\nname = 'vectoradd'\n"
                        "[workload.vectoradd]\nelements = 1024\n",
    "several applications": APPLICATION + "sms = 4\n[[application]]\nname = 'other'\nworkload = 'vectoradd'\n"
                            "space = 1\nsms = '4-7'\nvectoradd.elements = 1024\n",
}
with tempfile.TemporaryDirectory() as scratch:
    def run_accepts(name, text):
        path = os.path.join(scratch, name)
        pathlib.Path(path).write_text(text, encoding="utf-8")
        done = asked("statistics", path, "--search", "kernels")
        check(done.returncode in (0, 2), f"{name}: {done.stderr}")
        return done

    for what, text in refused_by_both.items():
        check(mistakes(text) != [], f"the schema refuses {what}")
        check(run_accepts("mistake.toml", text).returncode == 2, f"a run refuses {what}")
    for what, text in accepted_by_both.items():
        check(mistakes(text) == [], f"the schema accepts {what}: {mistakes(text)}")
        check(run_accepts("good.toml", text).returncode == 0, f"a run accepts {what}: {run_accepts('good.toml', text).stderr}")
    # A file that includes applications sets their values by name.
    by_name = 'include = ["good.toml"]\n[application.other]\nsms = 8\n'
    check(mistakes(by_name) == [], f"the schema accepts an application's name: {mistakes(by_name)}")
    check(run_accepts("by_name.toml", by_name).returncode == 0, "a run accepts an application's name")
    by_name = by_name.replace("sms", "sm")
    check(mistakes(by_name) != [] and run_accepts("by_name.toml", by_name).returncode == 2, "both refuse an unknown key there")

print(counts())
