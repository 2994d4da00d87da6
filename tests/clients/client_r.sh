#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# R, which computes in double (Debian: r-base-core, r-recommended): products of matrices with zeros, whose sums are exact;
# factorisations and solvers; the examples of R's packages; and R's own tests, which no package installs:
# LACUNA_R_SOURCE=FOLDER says where R's sources are (Debian: apt-get source r-base).
. "$(dirname "$0")/client_common.sh"
command -v Rscript >/dev/null || skip "needs r-base-core"
export LC_ALL=C LANGUAGE=en R_LIBS=

cat >suite.R <<'SUITE'
set.seed(1)
for (n in c(1, 10, 100, 300)) {
  a <- matrix(rnorm(n * n), n); a[abs(a) < 1.5] <- 0; x <- rnorm(n)
  for (r in list(a %*% a, crossprod(a), a %*% x, solve(a + diag(3 * n, n)), svd(a)$d, qr.R(qr(a + diag(n))), chol(crossprod(a) + diag(n))))
    cat(n, dim(r), format(sum(r), digits = 10), "\n")
}
SUITE
cat >products.R <<'SUITE'
for (n in c(1, 7, 40, 96, 200)) for (every in c(1, 3, 40, 400)) {
  a <- matrix(as.numeric((1:(n * 300)) %% every == 0), n, 300)
  b <- matrix((1:(300 * 50)) %% 9 - 4, 300, 50)
  x <- as.numeric((1:300) %% 5 == 0)
  for (r in list(a %*% b, crossprod(b, t(a)), tcrossprod(a), a %*% x, t(x) %*% t(a), crossprod(a)))
    cat(n, every, sum(r), sum(r * (seq_along(r) %% 13)), "\n")
}
SUITE
plain_and_under suite Rscript --vanilla suite.R
same suite 28 28 "results" 50
plain_and_under products Rscript --vanilla products.R
same products 120 50 "products" 30

# Their output but for times, dates, addresses, names of files and what is zero but for rounding, and but for Schur's vectors,
# whose signs differ from one plain run to another, and nearPD's number of steps to 1e-15. nlme and mgcv are not among them: the
# digits that their optimisers end with differ from one kernel of OpenBLAS to another (OPENBLAS_CORETYPE) too.
packages="splines stats4"
[ -n "${LACUNA_TEST_QUICK:-}" ] || packages="$packages stats methods datasets Matrix MASS survival cluster"
cat >examples.sh <<SUITE
for package in $packages; do
    Rscript --vanilla -e "invisible(tools:::.createExdotR('\$package', system.file(package = '\$package'), silent = TRUE))" 2>/dev/null
    [ -e \$package-Ex.R ] || continue
    R CMD BATCH --vanilla --no-timing \$package-Ex.R said || echo "exit status \$?"
    awk '/^> nameEx/ { left_out = /"(Schur|nearPD)"/ } !left_out' said |
        sed -E 's/Rtmp\w+/Rtmp/g; s/(file|pdf)[0-9a-f]{8,}/\1/g; s/[0-9-]{10} [0-9:]{8}/DATE/g; s/0x[0-9a-f]+/ADDRESS/g
            s/^( *[0-9]+\.[0-9]+){3} *$/TIMES/; /^Time elapsed/d; s/ *-?([0-9.]+e-(1[3-9]|[2-9][0-9])|0\.0+e\+00)/ ROUNDING/g'
done
SUITE
plain_and_under examples sh examples.sh
same examples 500 50 "lines of output of examples"
echo "$(grep -c '^> ### \* ' examples.under) examples"
! grep '^exit status [1-9]' examples.under || exit 1

[ -n "${LACUNA_R_SOURCE:-}" ] && [ -z "${LACUNA_TEST_QUICK:-}" ] || exit 0
cat >tests.sh <<SUITE
rm -rf tests && mkdir tests && cp -r "$LACUNA_R_SOURCE/tests" tests/base && cp -r "$LACUNA_R_SOURCE/src/library/stats/tests" tests/stats
export R_DEFAULT_PACKAGES= SRCDIR=.
for each in base/reg-BLAS base/lapack base/lm-tests base/print-tests base/reg-S4 base/demos base/demos2 base/d-p-q-r-tst-2 \
    \$(cd tests && ls base/reg-tests-*.R base/reg-examples*.R stats/*.R | sed 's/\.R$//'); do
    cd tests/\${each%/*} && name=\${each#*/}
    R CMD BATCH --vanilla --no-timing \$name.R \$name.Rout && verdict=passed || verdict=FAILED
    [ ! -e \$name.Rout.save ] || Rscript --vanilla -e "if (tools::Rdiff('\$name.Rout', '\$name.Rout.save', TRUE)) cat('')" >difference 2>&1
    echo "\$each \$verdict\$([ ! -e \$name.Rout.save ] || echo ", \$(wc -l <difference) lines differ from R's")"
    cd ../..
done
SUITE
plain_and_under tests sh tests.sh
same tests 20 1000 "files of R's tests" 100
echo "$(grep -c ' passed' tests.under) files pass"
