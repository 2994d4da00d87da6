#!/usr/bin/python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the spikes that `coba --raster` wrote: a raster of one trial and the population rate of all."""
import argparse
import sys

try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np
except ImportError as missing:
    print(f"No picture: {missing.name} is missing (Debian: python3-matplotlib).")
    sys.exit(0)

EXCITATORY, INHIBITORY, MEAN = "#2166ac", "#b2182b", "#222222"


def read_raster(path):
    """Returns the extents of the header line, and the spikes as an array of (trial, step, neuron)."""
    with open(path, encoding="ascii") as file:
        header = file.readline()
        if not header.startswith("#"):
            sys.exit(f"plot_raster.py: '{path}': has no header line")
        shape = dict(item.split("=") for item in header[1:].split())
        numbers = np.array(file.read().split(), dtype=np.int64)
    extents = {key: float(text) if key == "dt_ms" else int(text) for key, text in shape.items()}
    return extents, numbers.reshape(-1, 3)


def draw_raster(axes, shape, spikes, trial, limit):
    """One dot a spike, of at most `limit` evenly spread neurons."""
    stride = max(1, -(-shape["neurons"] // limit))
    shown = spikes[(spikes[:, 0] == trial) & (spikes[:, 2] % stride == 0)]
    excitatory = shown[:, 2] < shape["excitatory"]
    for chosen, colour, name in ((excitatory, EXCITATORY, "excitatory"), (~excitatory, INHIBITORY, "inhibitory")):
        axes.plot(shown[chosen, 1] * shape["dt_ms"], shown[chosen, 2], ".", color=colour, markersize=2.4,
                  markeredgewidth=0, label=name, rasterized=True)
    drawn = -(-shape["neurons"] // stride)
    axes.set_title(f"Vogels-Abbott network, {shape['neurons']} neurons: trial {trial} of {shape['trials']}"
                   f" ({drawn} neurons drawn)", loc="left", fontsize=11)
    axes.set_ylabel("neuron")
    axes.set_ylim(shape["neurons"], 0)
    axes.axhline(shape["excitatory"], color="0.6", linewidth=0.6)
    axes.text(1.01, 1 - shape["excitatory"] / shape["neurons"] / 2, "excitatory", color=EXCITATORY,
              rotation=270, va="center", transform=axes.transAxes)
    axes.text(1.01, (1 - shape["excitatory"] / shape["neurons"]) / 2, "inhibitory", color=INHIBITORY,
              rotation=270, va="center", transform=axes.transAxes)


def draw_rates(axes, shape, spikes, bin_ms):
    """Spikes per neuron and second: every trial thin, their mean thick."""
    length = shape["steps"] * shape["dt_ms"]
    edges = np.linspace(0.0, length, max(1, round(length / bin_ms)) + 1)
    width = edges[1] - edges[0]
    rates = np.array([np.histogram(spikes[spikes[:, 0] == trial, 1] * shape["dt_ms"], edges)[0]
                      for trial in range(shape["trials"])]) / (shape["neurons"] * width * 1e-3)
    middle = (edges[:-1] + edges[1:]) / 2
    for rate in rates:
        axes.plot(middle, rate, color="0.75", linewidth=0.6)
    axes.plot(middle, rates.mean(axis=0), color=MEAN, linewidth=1.5)
    axes.set_ylabel(f"rate (Hz)\nin {width:.3g} ms bins")
    axes.set_xlabel("time (ms); each trial grey, their mean black")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, length)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("raster", help="file written by coba --raster")
    parser.add_argument("png", help="picture to write")
    parser.add_argument("--trial", type=int, default=0, help="trial of the raster (0)")
    parser.add_argument("--neurons", type=int, default=1000, help="neurons to draw at most (1000)")
    parser.add_argument("--bin", type=float, default=2.0, help="width of a bin of the rate in ms (2)")
    args = parser.parse_args()

    try:
        shape, spikes = read_raster(args.raster)
    except OSError as error:
        sys.exit(f"plot_raster.py: '{args.raster}': {error.strerror}")
    if not 0 <= args.trial < shape["trials"]:
        sys.exit(f"plot_raster.py: --trial: the file has trials 0 to {shape['trials'] - 1}")
    if args.neurons < 1 or not args.bin > 0:
        sys.exit("plot_raster.py: --neurons and --bin have to be above zero")
    figure, (top, bottom) = plt.subplots(2, 1, sharex=True, figsize=(10, 6.5), height_ratios=(3, 1),
                                         layout="constrained")
    draw_raster(top, shape, spikes, args.trial, args.neurons)
    draw_rates(bottom, shape, spikes, args.bin)
    figure.savefig(args.png, dpi=130)
    print(f"Raster and population rate: {args.png}")


if __name__ == "__main__":
    main()
