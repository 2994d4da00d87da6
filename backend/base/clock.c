/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Sums the scheduler's own count (schedstat) over the threads of the process. */
#include "clock.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

static void add_thread(const char *thread, lac_cpu_use_t *use)
{
    char path[300];
    uint64_t ran, waited;
    snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", thread);
    FILE *file = fopen(path, "re");
    if (!file) return;
    if (fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2) {
        use->ran_ns += ran;
        use->waited_ns += waited;
    }
    fclose(file);
}

lac_cpu_use_t lac_cpu_use(void)
{
    lac_cpu_use_t use = {0, 0};
    DIR *threads = opendir("/proc/self/task");
    if (!threads) return use;
    for (const struct dirent *entry; (entry = readdir(threads));)
        if (entry->d_name[0] != '.') add_thread(entry->d_name, &use);
    closedir(threads);
    return use;
}

double lac_cpu_waited(const lac_cpu_use_t *since)
{
    lac_cpu_use_t now = lac_cpu_use();
    if (now.ran_ns <= since->ran_ns || now.waited_ns < since->waited_ns) return 0.0;
    double ran = (double)(now.ran_ns - since->ran_ns), waited = (double)(now.waited_ns - since->waited_ns);
    return waited / (ran + waited);
}
