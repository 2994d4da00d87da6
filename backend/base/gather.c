/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Asks the program whether its request is done, until it is or the time is over. */
#include "gather.h"
#include "clock.h"
#include "status.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { SPINS = 2000, SLEEP_NS = 50000 }; /* looks between which the processor is only offered to others */

void lac_gather_pause(unsigned looks)
{
    struct timespec nap = {0, SLEEP_NS};
    if (looks < SPINS)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

void lac_gather_abandon(void *memory)
{
    typedef struct kept {
        struct kept *next;
        void *memory;
    } kept_t;
    static _Atomic(kept_t *) all; /* so that tools that look for leaks find it */
    kept_t *mine = memory ? malloc(sizeof *mine) : NULL;
    if (!mine) return;
    mine->memory = memory, mine->next = atomic_load(&all);
    while (!atomic_compare_exchange_weak(&all, &mine->next, mine)) {
    }
}

lac_status_t lac_gather(const lac_comm_callbacks_t *by, const void *mine, void *all, size_t bytes,
                        double timeout_s, const atomic_bool *stop)
{
    void *request = NULL;
    double end_us = lac_now_us() + 1e6 * timeout_s;
    if (by->gather(by->arg, mine, all, bytes, &request))
        return lac_fail(LAC_ERR_VENDOR, "callbacks.gather: failed to begin");
    for (unsigned looks = 0;; looks++) {
        int done = by->test(by->arg, request);
        if (done > 0) return LAC_OK;
        if (done < 0) return lac_fail(LAC_ERR_VENDOR, "callbacks.test: says that the gather failed");
        if (atomic_load(stop)) return lac_fail(LAC_ERR_ABORTED, "communicator: was aborted");
        if (lac_now_us() > end_us)
            return lac_fail(LAC_ERR_TIMEOUT, "communicator: another rank did not come within %g s",
                            timeout_s);
        lac_gather_pause(looks);
    }
}
