#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fit of the driver's times to published batch logs.

Source: Allen and Ge, "In-depth analyses of unified virtual memory system for GPU accelerated computing" (SC 2021): Titan V, PCIe 3.0
x16, prefetching off. They publish one line per program: time of a batch = intercept + slope x data.

Model: time = a + b x VA blocks + c x faulted pages + f x VA blocks of first touch + wire.

Assumptions:
  1. Pages = data / 4 KiB. Prefetching is off, so each migrated page has faulted.
  2. Copies overlap with the work on the next block, as in the model. Only the wire time of the last block is visible.
  3. A VA block of 2 MiB has one first touch, so f adds f / 2,048 KiB to each slope. f stays assumed: the lines do not isolate it.
  4. stream has 4 VA blocks in each batch of any size: three arrays and a boundary. 4 is the published mean.
  5. The other programs' VA blocks are not published: blocks = least + per KiB x data, neither below 0. So a is at most the least
     intercept, hpgmg's. The fit takes that value: the largest part of a batch that VA blocks do not explain.
stream's intercept then gives b, stream's slope gives c, and each other line gives its program's blocks. Check:
a batch has at least one VA block and at most one per page.

The preset has rounded values. rows() compares the model with these values with the published lines.
"""
PAGE_KIB, BLOCK_KIB = 4, 2048
WIRE = 2**10 / 16e9 * 1e6  # us per KiB: PCIe 3.0 x16 of the preset
# us, and us per KiB.
LINES = {"stream": (105, 0.65), "sgemm": (37, 1.23), "hpgmg": (5, 1.03), "cufft": (70, 1.3)}
STREAM_BLOCKS = 4
STREAM_KIB = 251  # of a mean batch: 60 distinct pages
FIRST_TOUCH = 20  # us, assumed
# Messages of a batch after the driver's work, each of driver.notify_latency: copy order, its end, mapping order, its end.
NOTIFY, MESSAGES = 0.5, 4
SIZES = [64, 128, 251, 512]  # KiB; sizes of the residuals
LIMIT = 0.25


def published(program, kib):
    intercept, slope = LINES[program]
    return intercept + slope * kib


def fit():
    """a, b, c in us; {program: (least blocks, blocks per KiB)}."""
    a = min(intercept for intercept, _ in LINES.values())
    b = (LINES["stream"][0] - a) / STREAM_BLOCKS
    first_touch = FIRST_TOUCH / BLOCK_KIB
    c = PAGE_KIB * (LINES["stream"][1] - WIRE / STREAM_BLOCKS - first_touch)
    blocks = {"stream": (STREAM_BLOCKS, 0)}
    for program, (intercept, slope) in LINES.items():
        if program not in blocks:
            # Assumes stream's wire time for the last block.
            blocks[program] = ((intercept - a) / b, (slope - c / PAGE_KIB - WIRE / STREAM_BLOCKS - first_touch) / b)
    return a, b, c, blocks


def rounded():
    """driver.batch.time, block_time, page_time in us, as in the preset; `time` excludes the messages after the work."""
    a, b, c, _ = fit()
    return round(a - MESSAGES * NOTIFY, 1), round(b, 1), round(c, 1)


def modelled(blocks, kib):
    """Time of a batch in us with the preset's values."""
    time, b, c = rounded()
    return time + MESSAGES * NOTIFY + b * blocks + c * kib / PAGE_KIB + FIRST_TOUCH * kib / BLOCK_KIB + WIRE * kib / blocks


def blocks_of(program, kib):
    """VA blocks of a batch from the fit: at least one, at most one per page."""
    least, per_kib = fit()[3][program]
    return min(max(1, least + per_kib * kib), max(1, kib / PAGE_KIB))


def rows():
    """[program, KiB, published us, blocks, us of the model, residual]."""
    found = []
    for program in LINES:
        for kib in SIZES:
            blocks, us = blocks_of(program, kib), published(program, kib)
            made = modelled(blocks, kib)
            found.append([program, kib, us, blocks, made, made / us - 1])
    return found


def one_density():
    """The same with stream's VA blocks per KiB in all programs: [program, residual at stream's mean batch]."""
    made = modelled(STREAM_BLOCKS, STREAM_KIB)
    return [[program, made / published(program, STREAM_KIB) - 1] for program in LINES]


def main():
    a, b, c, blocks = fit()
    print(f"a {a:.2f} us, b {b:.2f} us per VA block, c {c:.3f} us per page; preset: time, block_time, page_time = {rounded()} us")
    for program, (least, per_kib) in blocks.items():
        print(f"{program}: {least:.2f} blocks + {per_kib:.4f} per KiB")
    for program, kib, us, count, made, residual in rows():
        print(f"{program:7} {kib:4} KiB: published {us:6.1f} us, {count:5.2f} VA blocks, model {made:6.1f} us, {residual:+.1%}")
    for program, residual in one_density():
        print(f"{program:7} {STREAM_KIB:4} KiB in {STREAM_BLOCKS} VA blocks: {residual:+.1%}")
    return 1 if any(abs(row[-1]) > LIMIT for row in rows()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
