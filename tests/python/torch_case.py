# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of half types in PyTorch share. The oracle is PyTorch's product of the same numbers in float64, from which a result is one rounding
away."""
import torch

HALVES = (torch.float16, torch.bfloat16)
SUMS = 2.0 ** -18  # of the absolute values that are added in float32, at most: what their order may change


def linear_in_double(x, weight, bias=None):
    """(F.linear in float64, the same of absolute values)"""
    wide = [each if each is None else each.detach().double() for each in (x, weight, bias)]
    return torch.nn.functional.linear(*wide), torch.nn.functional.linear(*(each if each is None else each.abs() for each in wide))


def assert_rounded(got, kind, want, sums, before=None):
    """got is of this type, and want (float64) to within one rounding to it. sums: want of the absolute values. before: another value that may have been
    rounded on the way, as cuBLAS does with a product before a bias is added. NaN fails."""
    assert got.dtype == kind, f"is {got.dtype}, expected {kind}"
    assert got.shape == want.shape, f"shape {tuple(got.shape)}, expected {tuple(want.shape)}"
    limits = torch.finfo(kind)
    bound = 0.5 * limits.eps * (want.abs() + (0 if before is None else before.abs())) + SUMS * sums + limits.smallest_normal * limits.eps
    off = (got.detach().double() - want).abs()
    assert bool((off <= bound).all()), f"off by up to {float((off / bound).max()):.3g} times the bound"


def assert_linear(got, x, weight, bias=None, ours=True):
    """got is F.linear of these, to within one rounding where it is ours; PyTorch's own may round the product before the bias is added."""
    before = None if ours or bias is None else linear_in_double(x, weight)[0]
    assert_rounded(got, weight.dtype, *linear_in_double(x, weight, bias), before=before)


def assert_near(got, want, roundings):
    """got is want (float64) to within so many roundings to its type, on the whole: of gradients, which are made of rounded results."""
    assert got.shape == want.shape, f"shape {tuple(got.shape)}, expected {tuple(want.shape)}"
    off, size = float((got.detach().double() - want.detach()).norm()), float(want.detach().norm())
    assert off <= 0.5 * roundings * torch.finfo(got.dtype).eps * size + 1e-6, f"off by {off:.3g} of {size:.3g}"


def sum_in_float32():
    """For PyTorch's own products on a device, which may add parts of sums in halves otherwise."""
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
