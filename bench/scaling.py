#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Renders the figures of a sharded network into docs/user/multi_device.md: measured on one and two devices, and on paper beyond.

usage: scaling.py [--root FOLDER] [--verify]

The newest bench/results/<machine>/exchange_*.json holds what bench/gpu/exchange_bench.c measured. A step's product is modelled as
a + b rows n + c (events rows n / R), its three constants fitted to all measured products; an exchange between the devices of one host takes
what two took, and beyond a host what is assumed below. --verify changes nothing and ends with status 1 where the page is stale."""
import argparse
import json
import pathlib
import sys

BEGIN, END = "<!-- scaling:begin -->", "<!-- scaling:end -->"
HOST_DEVICES = 8  # that reach each other's memory
# Assumed of a network between hosts, not measured: an all-gather's latency for each doubling of the hosts, and bytes a microsecond.
NETWORK_US, NETWORK_BYTES = 6.0, 25e3
PAPER = ((20000, 1, 0.01), (40000, 4, 0.005), (320000, 1, 0.005), (1000000, 1, 0.002))
MEMORY = 130e9  # bytes of a device that W may take


def newest(root):
    found = sorted(root.glob("bench/results/*/exchange_*.json"), key=lambda path: path.stem)
    return found[-1] if found else None


def table(heads, rows):
    lines = ["| " + " | ".join(head.lstrip(">") for head in heads) + " |",
             "|" + "|".join("---:" if head.startswith(">") else "---" for head in heads) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def solve(rows, values):
    """Least squares of three constants, relative errors weighing alike, by the normal equations."""
    matrix = [[sum(r[i] * r[j] / v ** 2 for r, v in zip(rows, values)) for j in range(3)] for i in range(3)]
    right = [sum(r[i] / v for r, v in zip(rows, values)) for i in range(3)]
    for i in range(3):
        for k in range(i + 1, 3):
            factor = matrix[k][i] / matrix[i][i]
            matrix[k] = [x - factor * y for x, y in zip(matrix[k], matrix[i])]
            right[k] -= factor * right[i]
    answer = [0.0] * 3
    for i in (2, 1, 0):
        answer[i] = (right[i] - sum(matrix[i][j] * answer[j] for j in range(i + 1, 3))) / matrix[i][i]
    return answer


def terms(neurons, batch, density, ranks):
    """What a product's time is made of: the launches, the events that are scanned, W's rows that are read."""
    return 1.0, batch * neurons, density * batch * neurons * neurons / ranks


def exchange_us(two, ranks, neurons, batch):
    """Of so many devices, from that of two."""
    hosts = -(-ranks // HOST_DEVICES)
    if ranks == 1:
        return 0.0
    return two + (NETWORK_US * (hosts - 1).bit_length() + neurons * batch / 8 / NETWORK_BYTES if hosts > 1 else 0.0)


def measured(report):
    rows = {}
    for row in report["rows"]:
        key = (row["neurons"], row["batch"], row["density"])
        rows.setdefault(key, {})[row["ranks"], row["engine"], row["sums"], row["what"]] = row
    return rows


def us(x):
    return f"{x:.1f} µs" if x < 1000 else f"{x / 1000:.2f} ms"


def text(path):
    report = json.loads(path.read_text(encoding="utf-8"))
    rows = measured(report)
    on_one = {key: found for key, found in rows.items() if (1, "peer", "fast", "product") in found}  # rows of larger W fall out of every cache
    fit = [(terms(*key, ranks), found[ranks, "peer", sums, "product"]["us"]) for key, found in on_one.items() for ranks in (1, 2)
           for sums in ("fast", "fixed") if (ranks, "peer", sums, "product") in found]
    constants = solve([x for x, _ in fit], [y for _, y in fit])

    def product(key, ranks):
        return sum(c * t for c, t in zip(constants, terms(*key, ranks)))

    shown = []
    for key, found in rows.items():
        name = f"{key[0]}, batch {key[1]}, {100 * key[2]:g} %"
        for ranks, engine, sums in ((1, "peer", "fast"), (2, "peer", "fast"), (2, "nccl", "fast"), (1, "peer", "fixed"), (2, "peer", "fixed"),
                                    (2, "nccl", "fixed")):
            if (ranks, engine, sums, "product") not in found:
                continue
            x = {what: found[ranks, engine, sums, what] for what in ("exchange", "product", "exchange and product")}
            shown.append((name, str(ranks), engine if ranks > 1 else "", sums,
                          us(x["exchange"]["us"]) if ranks > 1 else "", us(x["product"]["us"]), us(product(key, ranks)) if key in on_one else "",
                          us(x["exchange and product"]["us"]) if ranks > 1 else us(x["product"]["us"]),
                          {True: "yes", False: "no", None: "one device cannot hold it"}[x["product"]["same_bits"]]))
            name = ""
    both = {key: found[2, "peer", "fast", "exchange and product"]["us"] - found[2, "peer", "fast", "product"]["us"] for key, found in on_one.items()}
    paper = []
    for key in PAPER:
        nearest = min(both, key=lambda other: abs(other[0] * other[1] - key[0] * key[1]))
        cells = []
        for ranks in (1, 2, 8, 64, 1024):
            fits = 4 * key[0] ** 2 / ranks <= MEMORY
            cells.append(us(product(key, ranks) + exchange_us(both[nearest], ranks, key[0], key[1])) if fits else "W does not fit")
        paper.append((f"{key[0]}, batch {key[1]}, {100 * key[2]:g} %", *cells))
    return (f"Measured on {path.parent.name}, {report['date']}, driver {report['driver']}, commit `{report['commit']}` "
            f"([raw](../../bench/results/{path.parent.name}/{path.name})), a step in a graph:\n\n"
            + (f"{report['note']}\n\n" if "note" in report else "") + table(("neurons, events", ">devices", "engine", "sums", ">exchange", ">product", ">model", ">step", "bits of one device"), shown)
            + "\n\nOn paper, dense W in f32, from the model and, beyond eight devices, from an *assumed* network "
            f"({NETWORK_US:g} µs for each doubling of the hosts, {NETWORK_BYTES / 1e3:g} GB/s); a step by exchange and product:\n\n"
            + table(("neurons, events", *(f">{n} device{'s' * (n > 1)}" for n in (1, 2, 8, 64, 1024))), paper))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--verify", action="store_true", help="change nothing; status 1 when the page is stale")
    options = parser.parse_args()
    page, path = options.root / "docs/user/multi_device.md", newest(options.root)
    before = page.read_text(encoding="utf-8")
    head, rest = before.split(BEGIN)
    after = head + BEGIN + "\n" + (text(path) if path else "Nothing has been measured yet.") + "\n" + END + rest.split(END)[1]
    if options.verify and after != before:
        print(f"{page.name} is not what bench/scaling.py writes")
        return 1
    if after != before:
        page.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
