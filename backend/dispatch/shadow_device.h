/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Shadow runs on a device: the halves of shadow.h there. */
#ifndef LACUNA_DISPATCH_SHADOW_DEVICE_H
#define LACUNA_DISPATCH_SHADOW_DEVICE_H

#include "select.h"
#include "shadow_report.h"

bool lac_shadow_begin_device(lac_ctx_t *ctx, lac_shadow_t *shadow, const lac_problem_t *p);
lac_status_t lac_shadow_end_device(lac_ctx_t *ctx, const lac_shadow_t *shadow, const lac_problem_t *p,
                                   const lac_request_t *request, const lac_choice_t *choice,
                                   const lac_choice_t *second);

#endif
