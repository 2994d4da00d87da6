/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The config file: whatever it holds, the policy is one that can be printed and set again from its own text.
 */
#include "fuzz_target.h"

#include "planner/policy.h"

#include <stdbool.h>
#include <string.h>

static void expect_settable(const lac_policy_t *policy, int i)
{
    char text[128], again[128];
    bool known;
    lac_policy_t copy = *policy;
    lac_policy_text(policy, i, text, sizeof text);
    if (!strcmp(lac_policy_name(i), "verbose")) /* printed with blanks, for people */
        for (char *c = text + strlen(text); c-- > text;) *c = *c == ' ' ? (c[1] ? ',' : '\0') : *c;
    fuzz_promise(!lac_policy_set(&copy, lac_policy_name(i), text, "again", &known) && known,
                 "its text is accepted");
    lac_policy_text(&copy, i, again, sizeof again);
    lac_policy_text(policy, i, text, sizeof text);
    fuzz_promise(!strcmp(text, again), "and means the same");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[64];
    lac_policy_t policy;
    fuzz_quiet();
    int fd = fuzz_file(data, size, name, sizeof name);
    setenv("LACUNA_CONFIG", name, 1);
    lac_policy_load(&policy);
    fuzz_file_close(fd);
    fuzz_promise(policy.threads >= 1 && policy.threads <= 256, "threads");
    fuzz_promise(policy.sparse_margin >= 0 && policy.sparse_margin <= 10, "sparse_margin");
    fuzz_promise(policy.compare_every >= 1, "compare");
    for (int i = 0; i < lac_policy_count(); i++) expect_settable(&policy, i);
    return 0;
}
