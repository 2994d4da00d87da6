/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * An empty library: what it is linked against (lacuna_blas first, then a whole BLAS) is all it has. */

typedef int whole_blas_has_no_code_of_its_own;
