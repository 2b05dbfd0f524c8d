# SPDX-License-Identifier: Apache-2.0
"""Sections of what can be read in more than one way: the time of messages, and what ideal eviction is."""
from study import BOUND, PAGES, MESSAGES, SHORT, WORKLOADS
from tables import average, show, table

OF_MESSAGES = [("to_ue", "baseline", "TO+UE"), ("to", "baseline", "TO"), ("to_ue", "to", "UE beside TO"), ("to_ue", "pcie", "TO+UE over PCIe compression")]
SOURCES = {
    "1ns": "section 4.2, read as of all evictions: \"no additional overhead (e.g., communications with GPU) is required\"",
    "274ns": "section 2.2: \"long latency communications between the CPU and GPU over the PCIe bus\"; half of a round trip of 547 ns "
             "(Neugebauer et al., SIGCOMM 2018, section 6.2): the preset's",
}
IN_BETWEEN = "none: for the sensitivity"


def readings(f):
    """The time of a message: each order to the GPU takes it, and each answer."""
    def mean(name, design, over, message):
        return f.mean([f.ratio_of("readings", message, w, design, over, name) for w in SHORT])

    def of_baseline(name, per, message):
        found = [(f.of("readings", message, w, "baseline", name), f.of("readings", message, w, "baseline", per)) for w in SHORT]
        return f.mean([a / b for a, b in found if a and b])

    def evicting(message):
        """us for each evicted page: the time of batches with serialized eviction less that with ideal eviction; None where a run is missing."""
        def per_page(w, design):
            us, batches, pages = (f.of("readings", message, w, design, name) for name in ("batch_us", "batches", "pages"))
            return us * batches / pages if us and pages else None

        found = [(per_page(w, "baseline"), per_page(w, "ideal")) for w in SHORT]
        return average([a - b for a, b in found if a is not None and b is not None])

    paper = f.paper
    told = [paper["to_ue_over_baseline"], paper["to_over_baseline"], paper["ue_beside_to"], paper["to_ue_over_compression"]]
    rows = [["the paper", "", *(show(t["value"]) for t in told), show(paper["batch_time_ue_beside_to"]["value"]), show(paper["batch_time_to_ue"]["value"]),
             show(paper["batches_to_ue"]["value"]), show(paper["batch_size_to_ue"]["value"]), "2.3", "12"]]
    for message in MESSAGES:
        rows.append([message.replace("ns", " ns").replace("us", " us"), SOURCES.get(message, IN_BETWEEN)] +
                    [show(mean("kernel_us", over, design, message)) for design, over, _ in OF_MESSAGES] +
                    [show(mean("batch_us", "to_ue", "to", message)), show(mean("batch_us", "to_ue", "baseline", message)),
                     show(mean("batches", "to_ue", "baseline", message)), show(mean("batch_kb", "to_ue", "baseline", message)),
                     show(of_baseline("pages", "batches", message), 1), show(evicting(message), 1)])
    names = ", ".join(WORKLOADS[w] for w in SHORT)
    return ["## Readings: the time of a message between driver and GPU", "",
            f"`driver.notify_latency`; geometric means over {names}. Speedups; time of a batch to that of TO and of the baseline, number of batches and bytes of a batch to the baseline's; pages of "
            "a batch of the baseline; and what its serialized eviction adds for each page, in us: its time of batches per page less that with ideal eviction. The paper does not state the last two: they follow "
            "from its averages, if a page is transferred in 4.16 us and a batch of the baseline takes 20 us in addition to its pages. The value of the preset was decided before these runs were made."] + \
        table(["message", "sentence or source"] + [text for _, _, text in OF_MESSAGES] +
              ["batch time to TO", "batch time", "batches", "bytes of a batch", "pages", "eviction, us"], rows)


def bound(f):
    """Ideal eviction compared with unobtrusive eviction, in regular programs."""
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
            "The paper's \"GPU with an instant page eviction capability (denoted as ideal eviction)\" (section 4.2). Kernel times in ms, in regular programs: where as many bytes come in as many batches, ideal "
            "eviction may not be slower than unobtrusive eviction; elsewhere, by 1 % at most. Bytes in: ideal to UE."] + \
        table(["", "share", "page", "UE", "ideal", "ideal to UE", "batches", "bytes", "holds"], rows)
