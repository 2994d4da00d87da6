/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Failing calls: a status to return and a message for lac_last_error. */
#ifndef LACUNA_BASE_STATUS_H
#define LACUNA_BASE_STATUS_H

#include "lacuna/types.h"

/* Remembers the formatted message for this thread and returns `status`: return lac_fail(...). */
lac_status_t lac_fail(lac_status_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Forgets this thread's message: every public entry point begins with it. */
void lac_clear_error(void);

#endif
