/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The environment: the only place that reads it. */
#ifndef LACUNA_BASE_ENV_H
#define LACUNA_BASE_ENV_H

/* The value of an environment variable; NULL where it is unset or empty, and always in a set-uid program. */
const char *lac_env(const char *name);

#endif
