/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What no shared library may be: it calls a function that nobody defines. */
int lacuna_nobody_defines(void);
int lacuna_calls_nobody(void);
int lacuna_calls_nobody(void)
{
    return lacuna_nobody_defines();
}
