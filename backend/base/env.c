/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Reads the environment, and refuses to in a program that runs with another's rights. */
#include "env.h"

#include <stddef.h>
#include <stdlib.h>

const char *lac_env(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}
