/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * All kernels of one instruction set, compiled once per set; the table at the end is all that leaves here.
 *
 * Kernels that read an element type of S are included once per type: add one by giving elem_t, ELEM(name),
 * elem_value and elem_nz64 beside a new include. */
#include "isa_tables.h"
#include "simd.h"
#include "sum_runs.h"
#include "sum_levels.h"

#include "csr_panel.h"
#include "dense_block.h"
#include "event_panel.h"
#include "row_of_entry.h"
#include "write_out.h"

#include "elem_f32.h"
#include "scan_events.h"
#include "scan_rows.h"
#include "scan_bits.h"
#include "probe.h"
#include "elem_u8.h"
/* NOLINTBEGIN(readability-duplicate-include): once per element type */
#include "scan_events.h"
#include "scan_rows.h"
#include "scan_bits.h"
#include "probe.h"
/* NOLINTEND(readability-duplicate-include) */

#include "event_rows.h"
#include "event_cols.h"
#include "csr_rows.h"
#include "csr_cols.h"
#include "bitmask_cols.h"
#include "dense_blocked.h"
#include "sddmm_entries.h"
#include "transpose_copy.h"
#include "slice_rows.h"
#include "slice_grad.h"
#include "transpose_events.h"

const lac_host_kernels_t LAC_ISA_TABLE = {
    .isa = LAC_ISA_TEXT,
    .scan_events_f32 = scan_events_f32,
    .scan_events_u8 = scan_events_u8,
    .count_rows_f32 = count_rows_f32,
    .count_rows_u8 = count_rows_u8,
    .fill_rows_f32 = fill_rows_f32,
    .fill_rows_u8 = fill_rows_u8,
    .collect_rows_f32 = collect_rows_f32,
    .collect_rows_u8 = collect_rows_u8,
    .fill_bits_f32 = fill_bits_f32,
    .fill_bits_u8 = fill_bits_u8,
    .probe_f32 = probe_f32,
    .probe_u8 = probe_u8,
    .event_rows = event_rows,
    .event_cols = event_cols,
    .csr_rows = csr_rows,
    .csr_cols = csr_cols,
    .bitmask_cols = bitmask_cols,
    .dense_f32 = dense_blocked,
    .slice_rows = slice_rows,
    .slice_grad = slice_grad,
    .slice_sum = slice_sum,
    .sddmm = sddmm,
    .transpose_events = transpose_events,
    .transpose_f32 = transpose_copy,
};
