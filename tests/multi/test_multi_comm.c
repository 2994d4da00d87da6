/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Several ranks, each with a device or two with one: a sharded network, neurons, ranks as processes, and
 * ranks that die, lag, or are aborted. What two ranks can do on one device is tested there too. usage:
 * test_multi_comm [test...] */
#include "comm_checks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIP = 77 };

/* Nothing here may hang a machine: the program ends where a test takes longer. */
enum { LONGEST_S = 45 };

static void give_up(int signal)
{
    static const char text[] =
        "FAILED: a test takes too long; the last line says which one ended before it\n";
    (void)signal;
    if (write(1, text, sizeof text - 1) < 0) _exit(2);
    _exit(1);
}

typedef struct test {
    const char *name;
    void (*run)(void);
    int devices;
} test_t;

static int count_devices(void)
{
    int count = 0;
    for (lac_ctx_t *ctx; count < 2 && !lac_ctx_create_cuda(&ctx, count, LAC_STREAM_NEW); count++)
        lac_ctx_free(ctx);
    return count;
}

/* In a child: CUDA and fork do not go together. */
static int ask_devices(void)
{
    int how = 0;
    pid_t child = fork();
    if (!child) _exit(count_devices());
    waitpid(child, &how, 0);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 0;
}

int main(int argc, char **argv)
{
    static const test_t tests[] = {
        {"processes_one_device", test_processes_one_device, 1}, /* these fork: before CUDA is used */
        {"processes", test_processes, 2},
        {"one_device", test_one_device, 1},
        {"peers", test_peers, 2},
        {"nccl", test_nccl, 2},
        {"lif", test_lif, 2},
        {"abort", test_abort, 1}};
    int ran = 0;
    signal(SIGALRM, give_up);
    /* A queue for each stream of all ranks that share a device: an exchange that waits in a queue that two
     * share would be waited for by the rank that it waits for. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    devices = ask_devices();
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        bool wanted = argc < 2;
        for (int a = 1; a < argc; a++) wanted |= !strcmp(argv[a], tests[i].name);
        if (!wanted) continue;
        if (devices < tests[i].devices) {
            printf("skipped: %s: %d devices, and it wants %d\n", tests[i].name, devices, tests[i].devices);
            continue;
        }
        running = tests[i].name;
        int before = failures;
        double begin = now_s();
        alarm(LONGEST_S);
        tests[i].run();
        alarm(0);
        printf("%s %s (%.1f s)\n", failures == before ? "right:" : "WRONG:", running, now_s() - begin);
        fflush(stdout);
        ran++;
    }
    return failures ? 1 : ran ? 0 : SKIP;
}
