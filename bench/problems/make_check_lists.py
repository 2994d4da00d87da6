#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the lists check_*.txt of `lacuna check`: each crosses two or three features and lets the others rotate.

usage: make_check_lists.py [--verify]   (--verify: change nothing; status 1 when a list differs)"""
import itertools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TRANSPOSES = ("NN", "NT", "TN", "TT")
LAYOUTS = ("row", "col", "row+3", "col+5", "rowx2", "colx3+1")
AWKWARD = (1, 2, 31, 33, 127)
STRUCTURES = ("bern", "block4x8-", "row", "col", "band", "power", "fan")
DENSITIES = ("0", "0.001", "0.01", "0.1", "0.5", "0.9", "1")


class Turn:
    """Takes the next of a sequence at each call, for ever."""

    def __init__(self, *items):
        self.items = itertools.cycle(items)

    def __call__(self):
        return next(self.items)


def sgemm(trans, m, k, n, *fields):
    return ":".join(["sgemm", trans, f"{m}x{k}x{n}", *(field for field in fields if field)])


def shapes():
    """Extents at and beside the widths of vectors, words and tiles."""
    trans, sparse = Turn(*TRANSPOSES), Turn("A=bern0.1", "B=bern0.1", "A=bern0.02:B=bern0.3", "A=col0.2", "B=row0.2")
    for m, k, n in itertools.product(AWKWARD, repeat=3):
        yield sgemm(trans(), m, k, n, sparse())
    for m, k, n in ((0, 5, 7), (5, 0, 7), (5, 7, 0), (1, 0, 0), (0, 0, 0), (64, 64, 64), (65, 63, 129), (16, 17, 15)):
        yield sgemm(trans(), m, k, n, sparse())


def layouts():
    """Every pair of layouts of A and B under every pair of transposes; C takes turns."""
    layout_c, sparse = Turn(*LAYOUTS, "colx2"), Turn("A=bern0.1", "B=bern0.05", "A=bern0.01:metaA=csr")
    for trans, a, b in itertools.product(TRANSPOSES, LAYOUTS, LAYOUTS):
        yield sgemm(trans, 9, 70, 37, sparse(), f"layA={a}", f"layB={b}", f"layC={layout_c()}")


def scalars():
    """alpha and beta, the special ones and others."""
    for alpha, beta in itertools.product(("1", "0", "-1", "0.5"), ("0", "1", "-1", "0.5")):
        for fields in ("A=bern0.05", "B=bern0.05", "A=bern0.1:metaA=csr", "B=bern0.3:metaB=bits:frozenB=1",
                       "A=zero", "A=bern0.2:B=bern0.2:layC=col+2"):
            yield sgemm("NN", 17, 130, 35, fields, f"alpha={alpha}", f"beta={beta}")


def patterns():
    """Every structure at densities from none to all, on either side and on both."""
    trans = Turn(*TRANSPOSES)
    for structure, density in itertools.product(STRUCTURES, DENSITIES):
        yield sgemm(trans(), 20, 150, 33, f"A={structure}{density}")
        yield sgemm(trans(), 33, 150, 20, f"B={structure}{density}")
        yield sgemm(trans(), 40, 90, 45, f"A={structure}{density}", f"B={structure}{density}")


def metadata():
    """Every kind of metadata, frozen and not, with and without the buffer, floats and binary, either side."""
    trans, shape = Turn(*TRANSPOSES), Turn((12, 200, 40), (200, 12, 40), (40, 130, 5), (5, 65, 150), (1, 300, 64))
    density, seed = Turn("0.02", "0.3", "0", "0.8", "1"), Turn("s1", "s2", "s3")
    kinds = ("none", "density", "csr", "csc", "bits", "active")
    for kind, side, frozen, only, dt in itertools.product(kinds, "AB", "01", "01", ("f32", "u8")):
        if only == "1" and kind in ("none", "density"):
            continue
        for _ in range(4):
            yield sgemm(trans(), *shape(), f"{side}=bern{density()}", f"dt{side}={dt}", f"meta{side}={kind}",
                        f"frozen{side}={frozen}", f"only{side}={only}", seed())
    for side, only, dt, trans_of in itertools.product("AB", "01", ("f32", "u8"), TRANSPOSES):
        yield sgemm(trans_of, *shape(), f"{side}=fan{density()}", f"dt{side}={dt}", f"meta{side}=ell", f"only{side}={only}",
                    "A=bern0.1" if side == "B" else "B=bern0.1", seed())
    for frozen in "AB":
        for sparse in "AB":
            for t in TRANSPOSES:
                yield sgemm(t, 24, 120, 26, f"{sparse}=bern0.05", f"frozen{frozen}=1", f"lay={'col' if t == 'NT' else 'row'}")
    for a, b in itertools.product(kinds[2:], repeat=2):
        yield sgemm(trans(), 30, 64, 20, "A=bern0.2", "B=bern0.2", f"metaA={a}", f"metaB={b}")


def events():
    """Binary events as bits and lists beside their buffer times sparse weights, of values and of ones."""
    shape, scalars, seed = Turn((1, 2100, 300), (3, 257, 64), (40, 65, 33), (1, 64, 5000), (2, 31, 127)), Turn("", "", "alpha=2", "beta=1"), Turn("s1", "s2", "s3", "s4")
    density, layout, frozen = Turn("0.02", "0.3", "0", "1", "0.1"), Turn("row", "row", "row+3", "col"), Turn("0", "1")
    for events, weight, values, trans in itertools.product(("evbits", "evlists"), ("ell", "csr", "csc"), "1ui", TRANSPOSES):
        m, k, n = shape()
        yield sgemm(trans, m, k, n, f"A=bern{density()}", f"B=fan0.05/{values}", "dtA=u8", f"metaA={events}", f"metaB={weight}", f"frozenB={frozen()}",
                    "onlyB=1", f"layC={layout()}", scalars(), seed())
        yield sgemm(trans, n, k, m, f"A=fan0.05/{values}", f"B=bern{density()}", "dtB=u8", f"metaB={events}", f"metaA={weight}", f"frozenA={frozen()}",
                    "onlyA=1", f"layC={layout()}", scalars(), seed())
    for events, values in itertools.product(("evbits", "evlists"), "1u"):
        yield sgemm("NN", 1, 2100, 300, "A=bern0.01", f"B=fan0.1/{values}", "dtA=u8", f"metaA={events}", "metaB=ell", "onlyB=1")
        yield sgemm("NN", 9, 300, 70, "A=bern0.1", f"B=bern0.2/{values}", "dtA=u8", f"metaA={events}")


def values():
    """Kinds of values: wide exponents, all positive, NaN and Inf."""
    trans = Turn(*TRANSPOSES)
    for kind in ("u", "p", "e8", "e30", "1", "i", "x"):
        for a, b in (("bern0.05", "dense"), ("dense", "bern0.05"), ("bern0.3", "bern0.3"), ("dense", "dense")):
            for meta in ("", "metaA=csr", "metaB=bits:frozenB=1"):
                yield sgemm(trans(), 19, 257, 31, f"A={a}/{kind}", f"B={b}/{kind}", meta)


def vectors():
    """Products with a vector: increments, transposes, beta, a sparse vector, a sparse matrix."""
    for trans, fields, step, beta in itertools.product(
            "NT", ("B=bern0.1", "A=bern0.1", "A=bern0.05:metaA=csr", "A=bern0.3:metaA=bits:frozenA=1",
                   "B=bern0.02:frozenA=1"), ("row", "row+1", "row+2"), ("0", "0.5")):
        yield f"sgemv:{trans}:129x257:{fields}:layB={step}:layC={step}:beta={beta}"


def threads():
    """Large enough to be cut among threads and into fragments of k."""
    yield from (
        sgemm("NN", 1, 30000, 1200, "A=bern0.003"),
        sgemm("NT", 10, 20000, 700, "A=bern0.01", "layC=col"),
        sgemm("NN", 64, 6000, 1000, "A=bern0.02"),
        sgemm("NN", 1500, 9000, 10, "B=bern0.002"),
        sgemm("NN", 1500, 9000, 10, "B=bern0.002", "frozenA=1"),
        sgemm("TN", 1500, 3000, 40, "B=bern0.05", "layC=col"),
        sgemm("NN", 600, 600, 600, "A=bern0.1"),
        sgemm("NN", 600, 600, 600, "A=bern0.1", "metaA=csr"),
        sgemm("NN", 600, 600, 600, "B=bern0.1", "metaB=csc"),
        sgemm("NN", 2500, 1700, 3, "A=bern0.4", "metaA=bits", "frozenA=1"),
        sgemm("NT", 3, 1700, 2500, "B=bern0.4", "metaB=bits", "frozenB=1"),
        sgemm("NN", 300, 4000, 50, "A=power0.01"),
        sgemm("NN", 300, 4000, 50, "A=band0.01"),
    )


def gpu():
    """For a device: awkward extents up to 10007, with everything else taking turns of lengths that share no factor."""
    trans, beta = Turn(*TRANSPOSES), Turn("0", "1", "-0.5")
    layout_a, layout_b = Turn("row", "row", "col", "row+3", "colx2+1"), Turn(*LAYOUTS, "row")
    layout_c = Turn("row", "col", "row+5", "row", "rowx2", "row+1", "row", "col+2", "row", "row", "row+31")
    sparse = Turn("A=bern0.001", "B=bern0.001", "A=bern0.0001", "A=zero", "B=bern0.01", "A=bern0.1", "B=band0.02",
                  "A=power0.01", "B=row0.05", "A=col0.02", "A=bern0.02:B=bern0.3", "A=block4x8-0.1", "B=bern0.5")
    told = Turn("", "metaA=csr", "", "frozenA=1", "metaB=csc", "dtA=u8", "metaA=active", "frozenB=1", "",
                "metaB=bits:frozenB=1", "dtB=u8", "metaA=csr:onlyA=1", "metaA=bits:frozenA=1", "alpha=-2", "", "metaB=csr",
                "frozenA=1:frozenB=1")
    for most in (3e7, 5e6, 5e6):  # multiply-adds; the oracle makes about 1e9 a second of them
        for m, k, n in itertools.product((1, 31, 33, 127, 5000, 10007), repeat=3):
            if m * k * n <= most:
                yield sgemm(trans(), m, k, n, sparse(), told(), f"layA={layout_a()}", f"layB={layout_b()}",
                            f"layC={layout_c()}", f"beta={beta()}")
    for trans, fields in itertools.product("NT", ("B=bern0.01", "A=bern0.05:metaA=csr", "B=bern0.002:frozenA=1")):
        yield f"sgemv:{trans}:5000x127:{fields}:layB=row+1:layC=row+2:beta=0.5"


LISTS = (shapes, layouts, scalars, patterns, metadata, events, values, vectors, threads, gpu)


def text_of(make):
    head = ["# Written by make_check_lists.py.", *("# " + line for line in make.__doc__.splitlines())]
    return "\n".join([*head, *make()]) + "\n"


def main(arguments):
    stale = 0
    for make in LISTS:
        path = HERE / f"check_{make.__name__}.txt"
        text = text_of(make)
        if arguments == ["--verify"]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                print(f"{path.name} is not what make_check_lists.py writes")
                stale = 1
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{path.name}: {text.count(chr(10)) - text.count('#')} problems")
    return stale


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--verify"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
