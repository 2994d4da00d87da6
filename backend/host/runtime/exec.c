/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The BLAS when it is first asked for, scratch memory, and the rule for threads. */
#include "exec.h"
#include "base/status.h"

const lac_blas_t *lac_exec_blas(lac_exec_t *exec)
{
    if (!exec->blas) exec->blas = lac_blas();
    return exec->blas;
}

void *lac_work(lac_exec_t *exec, lac_work_t purpose, size_t bytes)
{
    void *memory = lac_buffer_reserve(&exec->work[purpose], bytes);
    if (!memory) lac_fail(LAC_ERR_MEMORY, "workspace: out of memory for %zu bytes", bytes);
    return memory;
}

/* Below four times what waking takes, a second thread would save less than the two predictions may be off by.
 */
int lac_host_parts(int threads, double serial_us, double fork_join_us)
{
    if (threads <= 1 || serial_us < 4.0 * fork_join_us) return 1;
    double worth = serial_us / fork_join_us;
    return worth < threads ? (int)worth : threads;
}
