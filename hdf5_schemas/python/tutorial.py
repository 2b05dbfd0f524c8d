# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # From a run to figures
#
# Runs the demo (breadth-first search on four GPUs, with pages interleaved over all GPUs), analyzes the result, changes the
# machine, and compares the results. Build `farfault`, then run in the top folder of the sources:
#
#     FARFAULT=build/release/farfault python3 hdf5_schemas/python/tutorial.py
#
# or open it as a notebook: VS Code and Jupytext support the cells (`# %%`). `FARFAULT`: path of the program.
# `FARFAULT_RESULTS`: folder for results and figures.

# %%
import os
import subprocess

import farfault

program = os.environ.get("FARFAULT", "build/release/farfault")
results = os.environ.get("FARFAULT_RESULTS", "results/tutorial")
os.makedirs(results, exist_ok=True)
graph = ("--set", "workload.size=default", "--set", "workload.bfs.rmat.scale=14")  # 16,384 vertices


def simulate(name, **changes):
    """Runs the demo with these parameters changed; returns the path of the result."""
    path = os.path.join(results, name + ".h5")
    settings = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    subprocess.run([program, "run", "bench/demo.toml", *graph, *settings, "--output", path, "--progress", "off"], check=True,
                   stdout=subprocess.DEVNULL)
    return path


# %% [markdown]
# ## Contents of a result
#
# A run writes one file. Opening it reads only its attributes and names; printing it shows how the run ended and the
# available data.

# %%
run = farfault.open(simulate("demo"))
print(run)

# %% [markdown]
# The file contains the resolved configuration, including defaults, the machine, and the version of the program.

# %%
print("L2 TLB:", run.config["gpu"]["l2_tlb"]["entries"], "entries")
print(run.machine.links[["a", "b", "kind", "latency_ps"]])
print("program: commit", run.commit, "on", run.host)

# %% [markdown]
# ## Which kernel took the time?
#
# Tables are pandas tables with a row per occurrence; units and descriptions are in `.attrs`.

# %%
kernels = run.table("kernels").set_index("name")
kernels["took_us"] = (kernels["finished"] - kernels["launched"]) / 1e6
clock = farfault.quantity(run.config["gpu"]["clock"])   # "1 GHz", in Hz
kernels["cycles"] = kernels["took_us"] * 1e-6 * clock
kernels["ipc_of_a_gpu"] = kernels["instructions"] / kernels["cycles"] / 4
kernels["remote_share"] = kernels["remote_accesses"] / (kernels["l1_misses"] + kernels["stores"])
print(kernels[["took_us", "instructions", "ipc_of_a_gpu", "remote_share"]].round(3))
print("remote_accesses:", run.table("kernels").attrs["long_name"]["remote_accesses"])

# %% [markdown]
# ## When?
#
# Time series are xarray datasets. Counters never decrease; `rates` returns their increase per second of simulated time, and
# `by="device"` sums over the SMs of a GPU.

# %%
instructions = run.rates("sm", "instructions", by="device")
busiest = instructions.idxmax("time_ps") / 1e9
for gpu in busiest["device"].values:
    print(gpu, f"is busiest {float(busiest.sel(device=gpu)):.2f} ms after the start")
run.plot.timeline(["sm/instructions", "l2_tlb/misses"]).savefig(os.path.join(results, "timeline.png"))
run.plot.hit_rates().savefig(os.path.join(results, "hit_rates.png"))

# %% [markdown]
# ## Why?
#
# The *latency stack* divides the time of a memory access into stages. Here the links to other GPUs take most of it.

# %%
stack = run.latency("machine").loc["machine"]
stages = stack.drop(["access_time", "transactions"])
print(f"average access time: {stack['access_time'] / stack['transactions'] / 1000:.0f} ns, by stage:")
print((100 * stages / stack["access_time"]).sort_values(ascending=False).head(3).round(1).to_string(), "%")
run.plot.latency_stack(by="kernel").savefig(os.path.join(results, "latency_stack.png"))

# %% [markdown]
# The activities of the SMs add up to their time. The SMs are idle most of the time, because the graph is small.

# %%
did = run.stalls("machine").loc["machine"]
print((100 * did / did["sm_time"]).round(1).to_string(), "%")
run.plot.stalls().savefig(os.path.join(results, "stalls.png"))

# %% [markdown]
# Traffic between GPUs, the busiest links, and the location of the pages.

# %%
print(run.traffic())
print(run.links().nlargest(3, "busy")[["from", "to", "bytes", "busy"]])
print(run.placement())
run.plot.traffic().savefig(os.path.join(results, "traffic.png"))
run.plot.links().savefig(os.path.join(results, "links.png"))

# %% [markdown]
# ## What if?
#
# Interleaved or contiguous page placement, combined with three sizes of the L2 TLB. Any set of results can form a sweep: its
# parameters are the keys in which the configurations differ.

# %%
sweep = farfault.open_many([
    simulate(f"{placement}-{entries}", **{"memory.placement": placement, "gpu.l2_tlb.entries": entries})
    for placement in ("interleave", "contiguous") for entries in (32, 128, 512)])
print(sweep)
print(sweep.table(["end", "iommu_walks"]).drop(columns=["result", "result_digest"]).to_string())

# %% [markdown]
# A complete grid is an xarray dataset with a dimension for each parameter.

# %%
grid = sweep.dataset(["end", "iommu_walks"])
speed_up = grid["end"].sel({"memory.placement": "interleave"}) / grid["end"].sel({"memory.placement": "contiguous"})
for entries in speed_up["gpu.l2_tlb.entries"].values:
    print(f"with {entries} entries, contiguous pages are {float(speed_up.sel({'gpu.l2_tlb.entries': entries})):.2f} times as fast")
sweep.plot("end", x="gpu.l2_tlb.entries").savefig(os.path.join(results, "sweep.png"))

# %% [markdown]
# Tables are exported like any pandas table.

# %%
sweep.runs.to_csv(os.path.join(results, "sweep.csv"))
print("figures and tables are in", results)
