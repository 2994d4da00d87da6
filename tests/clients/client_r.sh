#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# R computes in double, which is not Lacuna's: it must be none the worse for the library (Debian: r-base-core).
. "$(dirname "$0")/client_common.sh"
command -v Rscript >/dev/null || skip "needs r-base-core"

cat >suite.R <<'SUITE'
set.seed(1)
for (n in c(1, 10, 100, 300)) {
  a <- matrix(rnorm(n * n), n); a[abs(a) < 1.5] <- 0; x <- rnorm(n)
  for (r in list(a %*% a, crossprod(a), a %*% x, solve(a + diag(3 * n, n)), svd(a)$d, qr.R(qr(a + diag(n))), chol(crossprod(a) + diag(n))))
    cat(n, dim(r), format(sum(r), digits = 15), "\n")
}
SUITE
plain_and_under r Rscript --vanilla suite.R
same r 28 0 "results"
