# SPDX-License-Identifier: Apache-2.0
"""Sections on details with several readings: thread oversubscription, counted batches, message time, and ideal eviction as a bound."""
from parts import ASSUMED, BLOCKS, LARGER, OF_TO, PREMATURE, SHRINK, TO_READINGS
from study import BOUND, PAGES, MESSAGES, SHORT, THREE, WORKLOADS
from tables import average, show, table

OF_MESSAGES = [("to_ue", "baseline", "TO+UE"), ("to", "baseline", "TO"), ("to_ue", "to", "TO+UE over TO"), ("to_ue", "pcie", "TO+UE over PCIe compression")]
SOURCES = {
    "1ns": "section 4.2, applied to all evictions: \"no additional overhead (e.g., communications with GPU) is required\"",
    "274ns": "section 2.2: \"long latency communications between the CPU and GPU over the PCIe bus\"; half of a round trip of 547 ns "
             "(Neugebauer et al., SIGCOMM 2018, section 6.2); the preset",
}
IN_BETWEEN = "none; sensitivity only"


def readings(f):
    """The time of a message, which every order to the GPU and every answer takes."""
    def mean(name, design, over, message):
        return f.mean([f.ratio_of("readings", message, w, design, over, name) for w in SHORT])

    def of_baseline(name, per, message):
        found = [(f.of("readings", message, w, "baseline", name), f.of("readings", message, w, "baseline", per)) for w in SHORT]
        return f.mean([a / b for a, b in found if a and b])

    def evicting(message):
        """us per page: batch time per page with serialized eviction minus that with ideal eviction. None if a run is missing."""
        def per_page(w, design):
            us, batches, pages = (f.of("readings", message, w, design, name) for name in ("batch_us", "batches", "pages"))
            return us * batches / pages if us and pages else None

        found = [(per_page(w, "baseline"), per_page(w, "ideal")) for w in SHORT]
        return average([a - b for a, b in found if a is not None and b is not None])

    paper = f.paper
    told = [paper["to_ue_over_baseline"], paper["to_over_baseline"], paper["ue_beside_to"], paper["to_ue_over_compression"]]
    rows = [["paper", "", *(show(t["value"]) for t in told), show(paper["batch_time_ue_beside_to"]["value"]), show(paper["batch_time_to_ue"]["value"]),
             show(paper["batches_to_ue"]["value"]), show(paper["batch_size_to_ue"]["value"]), "2.3", "12"]]
    for message in MESSAGES:
        rows.append([message.replace("ns", " ns").replace("us", " us"), SOURCES.get(message, IN_BETWEEN)] +
                    [show(mean("kernel_us", over, design, message)) for design, over, _ in OF_MESSAGES] +
                    [show(mean("batch_us", "to_ue", "to", message)), show(mean("batch_us", "to_ue", "baseline", message)),
                     show(mean("batches", "to_ue", "baseline", message)), show(mean("batch_kb", "to_ue", "baseline", message)),
                     show(of_baseline("pages", "batches", message), 1), show(evicting(message), 1)])
    names = ", ".join(WORKLOADS[w] for w in SHORT)
    return ["## Readings: message time between driver and GPU", "",
            f"`driver.notify_latency`; geometric means over {names}. Speedups; batch time relative to TO and to the baseline; number of batches and bytes per batch relative to the baseline; pages per "
            "batch of the baseline; eviction: time that serialized eviction adds per page (batch time per page minus that with ideal eviction). The paper does not state the last two: they follow "
            "from its averages, if a page transfer takes 4.16 us and a batch of the baseline takes 20 us in addition to its pages. The preset's value was selected before these runs were executed."] + \
        table(["message", "quotation or source"] + [text for _, _, text in OF_MESSAGES] +
              ["batch time vs. TO", "batch time vs. baseline", "batches", "bytes per batch", "pages per batch", "eviction, us"], rows)


def bound(f):
    """Ideal eviction compared with unobtrusive eviction in regular programs."""
    rows = []
    for w in BOUND:
        for share in (0.5, 0.75):
            for page in PAGES:
                what = f"{share:g}, {page}"

                def of(design, name):
                    return f.of("bound", what, w, design, name)
                if of("ue", "kernel_us") is None or of("ideal", "kernel_us") is None:
                    continue
                same = of("ue", "batches") == of("ideal", "batches") and of("ue", "bytes_in") == of("ideal", "bytes_in")
                ratio = of("ideal", "kernel_us") / of("ue", "kernel_us")
                allowed = ratio <= (1 if same else 1.01)
                rows.append([w, f"{share:g}", page.replace("KiB", " KiB"), show(of("ue", "kernel_us") / 1e3, 3), show(of("ideal", "kernel_us") / 1e3, 3), show(ratio, 4),
                             f"{of('ue', 'batches')}, {of('ideal', 'batches')}", show(of("ideal", "bytes_in") / of("ue", "bytes_in"), 3), "yes" if allowed else "no"])
    return ["## Ideal eviction as a bound", "",
            "The paper's \"GPU with an instant page eviction capability (denoted as ideal eviction)\" (section 4.2). Kernel times of regular programs in ms. With equal numbers of batches and of migrated bytes, ideal "
            "eviction must not be slower than unobtrusive eviction; otherwise by at most 1%. Bytes: bytes migrated to the GPU, ideal divided by UE."] + \
        table(["", "share", "page", "UE", "ideal", "ideal / UE", "batches", "bytes", "holds"], rows)


TO_SENTENCES = {
    "as it is": "the preset",
    "reference=previous": "section 5.1: \"we calculate the running average of the lifetime of pages at every 100k cycles\", each compared with the previous one",
    "decrease=one_less": "section 4.1: \"Otherwise, thread oversubscription allocates one additional thread block\", also after a decrease",
    "decrease=none": "section 4.1: \"does not allow any more context switching\"",
    "mean=period": "section 5.1, \"at every 100k cycles\" read as the mean of these cycles",
    "saves=as_needed": "section 4.1: \"Hosting an additional (or more) thread blocks in an SM in this case requires\" it, if registers are exhausted",
    "blocks=1": "section 6.1: \"by 2x\"",
    "blocks=4": "none; sensitivity only",
    "warp_bytes=40": "none; sensitivity only",
    "warp_bytes=160": "none; sensitivity only",
    "lifetimes=all": "section 4.1: \"tracking when each page is allocated and evicted\", pages that arrived while the memory filled included",
    "threshold=100": "none; the controller never reduces the number of blocks",
    "reference=previous, decrease=one_less": "both readings above",
    "saved_in=shared_memory": "section 6.5: \"a close-to-ideal context switching overhead using an infinite-size shared memory\"",
}


def of_to(f):
    """TO alone and with UE, for each reading of its controller and its context switches."""
    def measured(what, w, design, name="kernel_us"):
        return f.of("headline", 0.5, w, design, name) if what == "as it is" else f.of("sensitivity", what, w, design, name)

    def gain(what, workloads, design):
        times = [(f.of("headline", 0.5, w, "baseline"), measured(what, w, design)) for w in workloads]
        return f.mean([a / b for a, b in times if a and b])

    def in_all(what, workloads, design, name):
        found = [measured(what, w, design, name) for w in workloads]
        return "-" if None in found else sum(found)

    rows = []
    for what in ["as it is", *TO_READINGS]:
        rows.append(["preset" if what == "as it is" else f"`{what}`", TO_SENTENCES[what], show(gain(what, THREE, "to")), show(gain(what, THREE, "to_ue")),
                     in_all(what, THREE, "to", "shrunk"), in_all(what, THREE, "to", "saved"),
                     *(cell for w in SHRINK for cell in (show(gain(what, [w], "to")), show(gain(what, [w], "to_ue")), in_all(what, [w], "to", "shrunk")))])
    defaults = ", ".join(f"`{key.removeprefix(OF_TO)} = {default}`" for key, default, _ in ASSUMED if key.startswith(OF_TO))
    names, others = ", ".join(WORKLOADS[w] for w in THREE), " and ".join(WORKLOADS[w] for w in SHRINK)
    return ["## Readings: thread oversubscription", "",
            f"`{OF_TO}*` at scale {f.scale}, where an SM gets four blocks of a kernel. Preset: {defaults}, `driver.batch.lifetimes = after_first_eviction`. Speedup over the baseline: geometric means over {names}, and {others} alone. Reduced: periods "
            "after which the number of extra blocks was reduced; saved: blocks whose registers were saved; both are sums with TO. `-`: not run. The preset's values were selected from the sentences before these runs were executed."] + \
        table(["reading", "quotation or source", "TO", "TO+UE", "reduced", "saved"] +
              [cell for w in SHRINK for cell in (f"{WORKLOADS[w]}: TO", "TO+UE", "reduced")], rows)


def premature(f):
    """Section 6.1: premature evictions with two and three times the blocks, relative to the baseline."""
    rows = []
    for w in PREMATURE:
        base = f.of("large", 0.5, w, "baseline", "premature")
        for times in BLOCKS:
            found, told = f.of("large", f"{times}x", w, "to", "premature"), f.premature[f"{w}_{times}x"]
            rows.append([WORKLOADS[w], f"{times}x", show(found / base) if base and found is not None else "-", show(told["value"])])
    return ["## Premature evictions with more blocks", "",
            f"R-MAT of scale {f.scale + LARGER}, TO without its controller (`threshold = 100`): evicted pages that are faulted on again, relative to the baseline. The paper's figures are in section 6.1."] + \
        table(["", "runnable blocks", "premature evictions", "paper"], rows)


def counted(f):
    """Number, size and time of batches, with and without empty ones; size in pages and in faulted pages."""
    def of(w, design, name):
        return f.of("headline", 0.5, w, design, name)

    def each(w, design, name):
        """The same figure over all batches, empty ones included."""
        batches, empty = of(w, design, "batches"), of(w, design, "empty")
        if name == "batches":
            return batches + empty if batches else None
        if name == "batch_us":
            return of(w, design, "all_batches_us")
        value = of(w, design, name)
        return value * batches / (batches + empty) if value else None

    graphs = f.graphs("headline", 0.5)
    names = ("batches", "batch_kb", "batch_faulted", "raw_faults", "batch_us")
    rows = []
    for text, ask in (("with migrated pages", of), ("all", each)):
        for design, over in (("to", "TO"), ("to_ue", "TO+UE")):
            found = [[(ask(w, design, name), ask(w, "baseline", name)) for w in graphs] for name in names]
            rows.append([text, over] + [show(f.mean([a / b for a, b in pairs if a and b])) for pairs in found])
    sizes = [[text] + [show(f.mean([ask(w, "baseline", name) for w in graphs]), 1) for name in ("pages_of_batch", "batch_faulted", "raw_faults")]
             for text, ask in (("with migrated pages", lambda w, d, n: pages(of, w, d, n)), ("all", lambda w, d, n: pages(each, w, d, n)))]
    return ["## Readings: counted batches and their size", "",
            "Relative to the baseline, geometric means. The paper has 0.49 times the batches and 2.27 times the size: \"the summation of all the pages in each batch in size\" (section 6.2), or \"2.27x more page "
            "faults per batch\" (section 5.2), which may be faulted pages or faults. It does not state if batches without migrated pages count."] + \
        table(["batches", "", "number", "bytes", "faulted pages", "faults", "time"], rows) + \
        ["Per batch of the baseline, geometric means:"] + table(["batches", "pages", "faulted pages", "faults"], sizes)


def pages(ask, w, design, name):
    if name != "pages_of_batch":
        return ask(w, design, name)
    kib = ask(w, design, "batch_kb")
    return kib / 64 if kib else None
