/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * One child a point. */
#include "fault_points.h"
#include "../unit/unit_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POINTS_MAX = 3000 };

static fault_end_t end_of_child(fault_child_fn *child, long n, bool for_good)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) exit((int)child(n, for_good));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > FAULT_MET)
        fail_msg("request %ld failing%s: child ended with 0x%x", n, for_good ? " for good" : "",
                 (unsigned)status);
    return (fault_end_t)WEXITSTATUS(status);
}

long fault_every_point(fault_child_fn *child, bool for_good, long step)
{
    long n = 1, tried = 0;
    for (; end_of_child(child, n, for_good) != FAULT_DONE; n += step, tried++) assert_true(n < POINTS_MAX);
    print_message("%ld points, of %ld requests\n", tried, n - 1);
    return n - 1;
}
