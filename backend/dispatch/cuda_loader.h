/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Backends that live in libraries of their own. */
#ifndef LACUNA_DISPATCH_CUDA_LOADER_H
#define LACUNA_DISPATCH_CUDA_LOADER_H

#include "../model/backend.h"

/* The CUDA backend, loaded on first use; NULL, with the reason in *why (which lives for ever), where there is
 * none. */
const lac_backend_t *lac_backend_cuda(const char **why);

#endif
