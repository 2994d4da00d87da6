/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The loader of backends that live in libraries of their own. */
#ifndef LACUNA_PLANNER_BACKENDS_H
#define LACUNA_PLANNER_BACKENDS_H

#include "route/backend.h"

/* The CUDA backend, loaded on first use; NULL, with the reason in *why (which lives for ever), where there is
 * none. */
const lac_backend_t *lac_backend_cuda(const char **why);

#endif
