/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The CUDA backend's routes, for tests that weigh them where there is no device. */
#ifndef LACUNA_CUDA_TABLE_SUPPORT_H
#define LACUNA_CUDA_TABLE_SUPPORT_H

#include "route/backend.h"

/* The table of the library LACUNA_CUDA_BACKEND, or a failed test. */
const lac_route_t *const *cuda_table(int *count);

#endif
