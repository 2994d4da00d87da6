/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Whose a library is, judged by the name of its file: a BLAS, or another of a vendor's. */
#include "vendor.h"

#include <stddef.h>
#include <string.h>

static int is_named(const char *path, const char *const *stem)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    while (*stem && strncmp(file, *stem, strlen(*stem)) != 0) stem++;
    return *stem != NULL;
}

int lac_is_blas(const char *path)
{
    static const char *const stems[] = {
        "libopenblas", "libscipy_openblas", "libblis",   "libmkl_rt", "libmkl_intel", "libflexiblas",
        "libarmpl",    "libnvpl_blas",      "libsatlas", "libtatlas", "libf77blas",   "libcblas",
        "libblas",     "libgslcblas",       "libsci_",   "libessl",   "libgoto",      NULL,
    };
    return is_named(path, stems);
}

int lac_is_vendor(const char *path)
{
    static const char *const stems[] = {"libcublas", "libcusolver", "libcusparse",
                                        "libnvblas", "libmkl",      NULL};
    return is_named(path, stems);
}
