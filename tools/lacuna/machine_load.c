/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What other programs took of the processors. */
#include "machine_load.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "wall_clock.h"

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

/* All fields of the first line of /proc/stat but idle and iowait; guest time is in user time already. */
static double busy_seconds(void)
{
    double f[8] = {0};
    FILE *file = fopen("/proc/stat", "r");
    if (!file) return -1.0;
    int read = fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &f[0], &f[1], &f[2], &f[3], &f[4], &f[5],
                      &f[6], &f[7]);
    fclose(file);
    if (read != 8) return -1.0;
    return (f[0] + f[1] + f[2] + f[5] + f[6] + f[7]) / (double)sysconf(_SC_CLK_TCK);
}

machine_load_t machine_load_now(void)
{
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    return (machine_load_t){busy_seconds(), seconds(own.ru_utime) + seconds(own.ru_stime), clock_us() * 1e-6};
}

double machine_load_of_others(const machine_load_t *since)
{
    machine_load_t now = machine_load_now();
    double wall = now.wall_s - since->wall_s, processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
    if (since->busy_s < 0.0 || now.busy_s < 0.0 || wall <= 0.0) return -1.0;
    double others = ((now.busy_s - since->busy_s) - (now.own_s - since->own_s)) / (wall * processors);
    return others < 0.0 ? 0.0 : others;
}

double machine_load_wait(double share, double wait_idle_s)
{
    const struct timespec second = {1, 0};
    double begin = clock_us() * 1e-6, waited = 0.0;
    while (waited < wait_idle_s) {
        machine_load_t load = machine_load_now();
        nanosleep(&second, NULL);
        waited = clock_us() * 1e-6 - begin;
        if (machine_load_of_others(&load) < share) break;
    }
    return waited;
}
