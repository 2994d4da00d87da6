/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One C locale for the process, made on first use. */
#include "c_locale.h"

#include <pthread.h>

static pthread_once_t made = PTHREAD_ONCE_INIT;
static locale_t plain;

static void make(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t lac_enter_c_locale(void)
{
    pthread_once(&made, make);
    return uselocale(plain); /* changes nothing where there is none */
}

void lac_leave_c_locale(locale_t before)
{
    uselocale(before);
}
