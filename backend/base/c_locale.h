/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The C locale for a few lines of code: files and log lines hold 0.5, whatever locale the program has set. */
#ifndef LACUNA_BASE_C_LOCALE_H
#define LACUNA_BASE_C_LOCALE_H

#include <locale.h>

/* Puts this thread into the C locale; hand what it returns to lac_leave_c_locale. */
locale_t lac_enter_c_locale(void);
void lac_leave_c_locale(locale_t before);

#endif
