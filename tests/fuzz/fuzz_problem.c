/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Problem strings: what is understood prints as a text that means the same; what is not has a reason. */
#include "fuzz_target.h"

#include "ref_problem.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[REF_ERROR_TEXT] = "", text[REF_PROBLEM_TEXT], again[REF_PROBLEM_TEXT];
    ref_problem_t problem, second;
    char *string = malloc(size + 1);
    if (size) memcpy(string, data, size);
    string[size] = '\0';
    if (ref_problem_parse(string, &problem, error, sizeof error)) {
        fuzz_promise(problem.m >= 0 && problem.n >= 0 && problem.k >= 0, "extents");
        fuzz_promise(ref_problem_print(&problem, text, sizeof text) < sizeof text, "a line of text");
        fuzz_promise(ref_problem_parse(text, &second, error, sizeof error), "what was printed is understood");
        ref_problem_print(&second, again, sizeof again);
        fuzz_promise(!strcmp(text, again), "it means the same");
    } else {
        fuzz_promise(*error && strlen(error) < sizeof error, "a reason");
    }
    free(string);
    return 0;
}
