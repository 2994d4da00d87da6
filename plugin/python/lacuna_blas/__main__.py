# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
"""`python -m lacuna_blas` is the command `lacuna`."""
from ._command import main

main()
