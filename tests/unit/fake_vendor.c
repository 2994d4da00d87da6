/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A BLAS that is none, to be found by its name: with one routine or both, and a version as BLIS tells it. */
#define EXPORT __attribute__((visibility("default")))

EXPORT void sgemm_(void);
void sgemm_(void) {}

#ifndef FAKE_HALF
EXPORT void sgemv_(void);
void sgemv_(void) {}

EXPORT const char *bli_info_get_version_str(void);
const char *bli_info_get_version_str(void)
{
    return "of a test";
}
#endif
