/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * All kernels of one instruction set and one type of values, compiled once for each; the table at the end is
 * all that leaves here.
 *
 * Kernels that read an element type of S are included once per type: add one by its functions in elem.h,
 * those of simd.h, and elem_t and ELEM(name) before a new include. */
#include "host_kernels.h"
#include "simd.h"
#include "panels.h"
#include "parts.h"
#include "elem.h"

#include <math.h>

#define elem_t     real_t
#define ELEM(name) name##_real
#include "scan.h"
#undef elem_t
#undef ELEM

#define elem_t     uint8_t
#define ELEM(name) name##_u8
#include "scan.h" /* NOLINT(readability-duplicate-include): once per element type */
#undef elem_t
#undef ELEM

#define LAC_KERNEL_BODIES
#define LAC_KERNEL(name, type, arguments)
#include "kernel_files.h"
#undef LAC_KERNEL
#undef LAC_KERNEL_BODIES

const lac_host_kernels_t LAC_ISA_TABLE = {
    .isa = LAC_ISA_TEXT,
    .type = REAL_TYPE,
    .size = sizeof(real_t),
    .scan = {scan_events_real, count_rows_real, fill_rows_real, collect_rows_real, fill_bits_real,
             probe_real},
    .scan_u8 = {scan_events_u8, count_rows_u8, fill_rows_u8, collect_rows_u8, fill_bits_u8, probe_u8},
#define LAC_KERNEL(name, type, arguments) .name = (name),
#include "kernel_files.h" /* NOLINT(readability-duplicate-include): the rows of the table */
#undef LAC_KERNEL
};
