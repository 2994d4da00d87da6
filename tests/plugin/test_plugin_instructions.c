/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * How many instructions a call takes that the plugin passes on, counted one by one: a child makes the calls,
 * its parent steps through them. The BLAS behind returns at once, so that the count is the plugin's own.
 *
 * Counts do not depend on what else the machine does, but on the compiler: gcc 12 makes 400 instructions of a
 * small call, and 260 more where the site is known to be dense. The limits leave room for a third more; no
 * call may take much more than a product does. */
#include "plugin_case.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { SKIPPED = 77, WARM = 300, COUNTED = 5, SIDE = 56 };
enum { SMALL_MAX = 550, DENSE_MAX = 900 };

static void *plugin, *behind;
static plugin_case_t one;

/* The calls between two signals are counted. */
static void count_here(void)
{
    kill(getpid(), SIGUSR1);
}

/* Nothing is zero: a product of these is passed on for what it is. */
static void prepare(const plugin_symbol_t *symbol, int64_t side)
{
    memset(&one, 0, sizeof one);
    one.order = 102;
    one.ta = plugin_kind(symbol) == KIND_SYRK ? 'U' : plugin_kind(symbol) == KIND_SYMM ? 'L' : 'N';
    one.tb = plugin_kind(symbol) == KIND_SYMM ? 'U' : 'N';
    one.m = one.n = one.k = one.lda = one.ldc = side;
    one.ldb = plugin_kind(symbol) == KIND_GEMV ? 1 : side;
    if (plugin_kind(symbol) == KIND_GEMV) one.ldc = 1;
    one.alpha = 1.0;
    for (int i = 0; i < CASE_MAX; i++) one.a[i] = one.b[i] = 1.0 + i;
}

static void child(const plugin_symbol_t *symbol, int64_t side)
{
    void *through = dlsym(plugin, symbol->name), *direct = dlsym(behind, symbol->name);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    prepare(symbol, side);
    for (int i = 0; i < WARM; i++)
        plugin_case_call(&one, symbol, through), plugin_case_call(&one, symbol, direct);
    for (int i = 0; i < COUNTED; i++) {
        count_here();
        plugin_case_call(&one, symbol, direct);
        count_here();
        plugin_case_call(&one, symbol, through);
        count_here();
    }
    _exit(0);
}

/* Instructions until the child's next signal; negative where it ended. */
static long steps(pid_t pid)
{
    int status;
    for (long count = 0;; count++) {
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
            return -1;
        if (WSTOPSIG(status) == SIGUSR1) return count;
    }
}

/* What the least of the calls takes beyond a direct one; now and then one is measured or probed. */
static long least(const plugin_symbol_t *symbol, int64_t side)
{
    int status;
    long best = -1;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) child(symbol, side);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGUSR1) {
        kill(pid, SIGKILL);
        fail_msg("%s: the child did not begin", symbol->name);
    }
    for (int i = 0; i < COUNTED; i++) {
        long direct = steps(pid), through = steps(pid);
        if (direct < 0 || through < 0) fail_msg("%s: the child ended early", symbol->name);
        if (best < 0 || through - direct < best) best = through - direct;
        if (i + 1 < COUNTED) steps(pid); /* to the next pair */
    }
    ptrace(PTRACE_KILL, pid, NULL, NULL);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return best;
}

/* Each call of doubles in both conventions: a small one, and one at a site whose operands were seen to be
 * dense. */
static void test_passed_calls(void **state)
{
    (void)state;
    static const char *const names[] = {"dgemm_",      "dgemv_",      "dsyrk_",      "dsymm_",
                                        "cblas_dgemm", "cblas_dgemv", "cblas_dsyrk", "cblas_dsymm"};
    long gemm[2] = {0, 0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const plugin_symbol_t *symbol = plugin_symbols;
        while (strcmp(symbol->name, names[i]) != 0) symbol++;
        long count[2] = {least(symbol, 4), least(symbol, SIDE)};
        printf("%-12s small %ld, dense %ld instructions beyond the BLAS's\n", names[i], count[0], count[1]);
        if (plugin_kind(symbol) == KIND_GEMM) memcpy(gemm, count, sizeof gemm);
        for (int dense = 0; dense < 2; dense++) {
            if (count[dense] <= 0 || count[dense] > (dense ? DENSE_MAX : SMALL_MAX))
                fail_msg("%s: %ld instructions", names[i], count[dense]);
            if (count[dense] > gemm[dense] + gemm[dense] / 4)
                fail_msg("%s: %ld instructions, where a product takes %ld", names[i], count[dense],
                         gemm[dense]);
        }
    }
}

/* True where a process may step through its child. */
static bool may_trace(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) _exit(1);
        count_here();
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) return false;
    bool stepped =
        !ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return stepped;
}

static int ready(void **state)
{
    (void)state;
    plugin = dlopen("liblacuna_blas.so", RTLD_NOW | RTLD_NOLOAD);
    behind = dlopen("libblasempty.so", RTLD_NOW | RTLD_NOLOAD);
    return plugin && behind ? 0 : -1;
}

int main(void)
{
    setenv("LACUNA_THREADS", "1", 1);
    if (!may_trace()) {
        printf("skipped: this process may not trace its children\n");
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_passed_calls)};
    return cmocka_run_group_tests(tests, ready, NULL);
}
