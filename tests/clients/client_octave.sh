#!/bin/sh
# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Octave's own tests (Debian: octave), and products of matrices with zeros in both precisions, whose sums are exact.
. "$(dirname "$0")/client_common.sh"
command -v octave-cli >/dev/null || skip "needs octave"
least=50 folders='"libinterp/corefcn", "liboctave/array", "liboctave/numeric"'
[ -z "${LACUNA_TEST_QUICK:-}" ] || { least=10 folders='"liboctave/numeric"'; }

cat >suite.m <<SUITE
root = fullfile (OCTAVE_HOME (), "share", "octave", version (), "etc", "tests");
for folder = {$folders}
  files = glob (fullfile (root, folder{1}, "*.cc-tst"));
  for i = 1:numel (files)
    [name{1:3}] = fileparts (files{i});
    if any (strcmp (name{2}, {"sysdep", "syscalls", "time", "utils", "toplev", "rand", "graphics", "gl2ps-print"})) continue; end
    rand ("seed", 1); rand ("state", 1); randn ("state", 1);
    [passed, all] = test (files{i}, "quiet", "/dev/null");
    printf ("%s %d of %d\n", name{2}, passed, all);
  end
end
for name = {"mpower", "expm", "kron", "null", "orth", "cond", "rank", "cov", "corr", "conv2", "polyfit", "fftfilt"}
  [passed, all] = test (name{1}, "quiet", "/dev/null");
  printf ("%s %d of %d\n", name{1}, passed, all);
end
SUITE
cat >products.m <<'SUITE'
for type = {@single, @double}
  for n = [1 7 40 96 200]
    for every = [1 3 40 400]
      a = type{1} (mod (1:n * 300, every) == 0); a = reshape (a, n, 300);
      b = type{1} (reshape (mod (1:300 * 50, 9) - 4, 300, 50));
      x = type{1} (mod (1:300, 5) == 0)';
      for c = {a * b, b' * a', a * a', a * x, x' * a', (a' * a)(1:5, :)}
        printf ("%s %d %d: %d %d\n", class (a), n, every, sum (c{1}(:)), sum (double (c{1}(:)) .* mod (1:numel (c{1}), 13)'));
      end
    end
  end
end
SUITE
plain_and_under suite octave-cli --quiet --norc suite.m
same suite "$least" 0 "files of tests" 10
awk '$3 == "of" { passed += $2; all += $4 } END { print passed " of " all " tests pass" }' suite.under
plain_and_under products octave-cli --quiet --norc products.m
same products 240 100 "products" 20
