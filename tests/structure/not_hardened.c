/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What hardened.sh has to complain about. */
int lacuna_not_hardened(void);
int lacuna_not_hardened(void)
{
    return 1;
}
