# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""Products of PyTorch held to fp64, and on a device to what cuBLAS makes of the same data.

Error of a product, over |A| |B| elementwise against fp64, at most twice that of cuBLAS on the same data (or twice FLOOR): the calls of
PyTorch go through the plugin, and cuBLAS's own answer is fetched past it, by an address that dlsym gives."""
import ctypes
import re

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FLOOR = 2.0 ** -22  # sums of a few events: cuBLAS may happen to round less often than once an event
worst = {}


class Vendor:
    """cublasSgemm_v2 as cuBLAS has it."""

    _library = None

    @classmethod
    def product(cls, a, b):
        """a[m, k] b[k, n], both contiguous by rows."""
        if not cls._library:
            maps = open("/proc/self/maps", encoding="utf-8").read()
            cls._library = ctypes.CDLL(re.search(r"/\S*libcublas\.so\.\d+", maps)[0])
        (m, k), n = a.shape, b.shape[1]
        c = torch.empty(m, n, device=DEVICE)
        one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
        status = cls._library.cublasSgemm_v2(
            ctypes.c_void_p(torch.cuda.current_blas_handle()), 0, 0, n, m, k, ctypes.byref(one),
            ctypes.c_void_p(b.data_ptr()), n, ctypes.c_void_p(a.data_ptr()), k, ctypes.byref(zero),
            ctypes.c_void_p(c.data_ptr()), n)
        assert status == 0, status
        return c


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def events(density, *shape, seed=0):
    generator = torch.Generator(DEVICE).manual_seed(seed)
    x = torch.randn(*shape, device=DEVICE, generator=generator)
    return x * (torch.rand(*shape, device=DEVICE, generator=generator) < density)


def error(c, a, b, added=None):
    """The largest error of c = a b + added, free of scale."""
    want = a.double() @ b.double()
    scale = a.double().abs() @ b.double().abs()
    if added is not None:
        want, scale = want + added.double(), scale + added.double().abs()
    return ((c.double() - want).abs() / (scale + 1e-30)).max().item()


def check(name, c, a, b, added=None):
    theirs = error(Vendor.product(a.contiguous(), b.contiguous()), a, b) if DEVICE == "cuda" else 0.0
    mine = error(c, a, b, added)
    ratio = mine / max(theirs, FLOOR)
    worst[name] = max(worst.get(name, 0.0), ratio)
    if not ratio <= 2.0:  # NaN fails
        raise AssertionError(f"{name} {tuple(a.shape)} x {tuple(b.shape)}: error {mine:.3g}, cuBLAS's {theirs:.3g}")


def often(times, call):
    for _ in range(times):
        result = call()
        synchronize()
    return result
