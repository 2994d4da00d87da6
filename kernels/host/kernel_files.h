/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The files of kernels, one a line; read three times: for the members of lac_host_kernels_t, the kernels of
 * one instruction set, and the rows of its table. Each opens with LAC_KERNEL(name, type, arguments) for each
 * of its kernels; what follows stands under LAC_KERNEL_BODIES. */
/* clang-format off */
#include "event_products.h"
#include "csr_products.h"
#include "pair_products.h"
#include "bitmask_products.h"
#include "dense_blocked.h"
#include "sddmm_entries.h"
#include "transpose.h"
#include "slices.h"
#include "epilogue.h"
#include "lif_step.h"
#include "loose_rows.h"
