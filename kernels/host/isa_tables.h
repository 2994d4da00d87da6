/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The one symbol that each compilation of isa_kernels.c defines. */
#ifndef LACUNA_ISA_TABLES_H
#define LACUNA_ISA_TABLES_H

#include "host_kernels.h"

extern const lac_host_kernels_t lac_host_kernels_portable;
extern const lac_host_kernels_t lac_host_kernels_avx2;
extern const lac_host_kernels_t lac_host_kernels_avx512;

#endif
