/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Checks a list of problems with one worker or several, and counts and prints the results. */
#include "check_pool.h"
#include "output.h"

#include <string.h>
#include <pthread.h>
#include <stdlib.h>

static void print_line(check_summary_t *summary, const check_line_t *line)
{
    static const char *const word[] = {"ok", "refused", "FAILED"};
    FILE *out = summary->out;
    if (summary->common->quiet && line->status != CHECK_FAILED) return;
    if (!summary->headed) fprintf(out, "%s   (against %s)\n", line->problem, line->oracle);
    summary->headed = true;
    fprintf(out, "  %-8s %-22s", word[line->status], line->route);
    if (line->status == CHECK_REFUSED)
        fprintf(out, " %s\n", line->why);
    else
        fprintf(out, " %-13s max %-9.3g mean %-9.3g %s\n", line->ran, line->max_error, line->mean_error,
                line->why);
    if (line->status != CHECK_FAILED) return;
    bool entry = strncmp(line->route, "lac_", 4) == 0 || line->route[0] == '(';
    fprintf(out, "           repeat: %s ", summary->command);
    if (summary->common->on_device) fprintf(out, "--device cuda:%d ", summary->common->device);
    fprintf(out, "--route %s '%s'\n", entry ? ROUTE_AUTO : line->route, line->problem);
}

/* Counts a line of one problem and prints it. A check_line_fn: tally is a check_summary_t. */
static void check_summary_line(void *arg, const check_line_t *line)
{
    check_summary_t *summary = arg;
    print_line(summary, line);
    if (line->status == CHECK_PASSED) summary->passed++;
    if (line->status == CHECK_REFUSED) summary->refused++;
    if (line->status == CHECK_FAILED) summary->failed++;
    if (line->status != CHECK_PASSED || !(line->max_error > summary->worst)) return;
    summary->worst = line->max_error;
    snprintf(summary->worst_problem, sizeof summary->worst_problem, "%s", line->problem);
    snprintf(summary->worst_route, sizeof summary->worst_route, "%s", line->route);
}

/* Adds the counts of one problem to those of the problems before it. */
static void check_summary_add(check_summary_t *sum, const check_summary_t *one)
{
    sum->passed += one->passed;
    sum->refused += one->refused;
    sum->failed += one->failed;
    if (!(one->worst > sum->worst)) return;
    sum->worst = one->worst;
    memcpy(sum->worst_problem, one->worst_problem, sizeof sum->worst_problem);
    memcpy(sum->worst_route, one->worst_route, sizeof sum->worst_route);
}

void check_summary_print(const check_summary_t *sum, size_t problems)
{
    fprintf(sum->out, "%zu problems: %ld passed, %ld refused, %ld failed", problems, sum->passed,
            sum->refused, sum->failed);
    if (sum->passed > 0 && sum->worst > 0.0)
        fprintf(sum->out, "; largest error %.3g (route %s, %s)", sum->worst, sum->worst_route,
                sum->worst_problem);
    fprintf(sum->out, "\n");
}

/* Checks a list of problems with one worker or several. */

#define KEPT_PER_JOB 16 /* problems that may be done before the one that the report waits for */

/* One problem's report, kept until its turn. */
typedef struct slot {
    bool done;
    int code;
    char *text;
    size_t size;
    check_summary_t summary;
} slot_t;

typedef struct pool {
    const check_work_t *work;
    check_summary_t *sum;
    pthread_mutex_t lock; /* of the members below */
    pthread_cond_t reported_more;
    size_t dealt, reported; /* problems that a worker took, and that were reported */
    int code;               /* the first of the list that is not EXIT_OK           */
    size_t slots;
    slot_t *slot;
} pool_t;

typedef struct worker {
    pool_t *pool;
    check_options_t check;
    pthread_t thread;
} worker_t;

/* The next problem, once there is room for its report. False: there is no more to do. */
static bool take(pool_t *pool, size_t *index)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->code == EXIT_OK && pool->dealt < pool->work->problems &&
           pool->dealt - pool->reported == pool->slots)
        pthread_cond_wait(&pool->reported_more, &pool->lock);
    bool more = pool->code == EXIT_OK && pool->dealt < pool->work->problems;
    if (more) *index = pool->dealt++;
    pthread_mutex_unlock(&pool->lock);
    return more;
}

static void report_slot(pool_t *pool, slot_t *slot)
{
    progress_clear();
    if (slot->text) fwrite(slot->text, 1, slot->size, pool->sum->out);
    check_summary_add(pool->sum, &slot->summary);
    pool->code = slot->code;
    free(slot->text);
    *slot = (slot_t){0};
    pool->reported++;
    progress("check: %zu of %zu", pool->reported, pool->work->problems);
}

/* Hands a report in, and prints those that are next in order. */
static void give(pool_t *pool, size_t index, const slot_t *report)
{
    pthread_mutex_lock(&pool->lock);
    pool->slot[index % pool->slots] = *report;
    while (pool->code == EXIT_OK && pool->slot[pool->reported % pool->slots].done)
        report_slot(pool, &pool->slot[pool->reported % pool->slots]);
    pthread_cond_broadcast(&pool->reported_more);
    pthread_mutex_unlock(&pool->lock);
}

static void check_one(const worker_t *worker, size_t index, slot_t *report)
{
    const check_work_t *work = worker->pool->work;
    ref_problem_t problem;
    *report = (slot_t){.done = true, .code = EXIT_UNAVAILABLE};
    report->summary = (check_summary_t){.common = &work->check.common, .command = work->command};
    report->summary.out = open_memstream(&report->text, &report->size);
    if (!report->summary.out) {
        complain(work->command, "problem %zu: out of memory", index);
        return;
    }
    report->code = EXIT_WRONG;
    if (work->problem(work->list, index, &problem))
        report->code =
            work->check_one(work->list, &problem, &worker->check, check_summary_line, &report->summary);
    fclose(report->summary.out);
}

static void *work_on(void *arg)
{
    worker_t *worker = arg;
    size_t index;
    slot_t report;
    while (take(worker->pool, &index)) {
        check_one(worker, index, &report);
        give(worker->pool, index, &report);
    }
    return NULL;
}

/* The first worker is the calling thread; where a thread cannot be had the others do its share. */
static void work_together(worker_t *worker, int jobs)
{
    int threads = 1;
    while (threads < jobs && pthread_create(&worker[threads].thread, NULL, work_on, &worker[threads]) == 0)
        threads++;
    work_on(&worker[0]);
    for (int i = 1; i < threads; i++) pthread_join(worker[i].thread, NULL);
}

int check_contexts_make(check_options_t *check, const char *command)
{
    int code = common_context(&check->common, command, &check->ctx);
    if (code == EXIT_OK) code = common_context(&check->common, command, &check->one);
    if (code != EXIT_OK || lac_ctx_set(check->one, "threads", "1") == LAC_OK) return code;
    complain(command, "threads: %s", lac_last_error());
    return EXIT_UNAVAILABLE;
}

void check_contexts_free(check_options_t *check)
{
    lac_ctx_free(check->ctx);
    lac_ctx_free(check->one);
    check->ctx = check->one = NULL;
}

int check_pool_run(const check_work_t *work, check_summary_t *sum)
{
    int jobs = work->problems < (size_t)work->jobs ? (int)work->problems : work->jobs;
    if (jobs < 1) jobs = 1;
    pool_t pool = {.work = work, .sum = sum, .slots = KEPT_PER_JOB * (size_t)jobs};
    worker_t *worker = calloc((size_t)jobs, sizeof *worker);
    pool.slot = calloc(pool.slots, sizeof *pool.slot);
    int code = worker && pool.slot ? EXIT_OK : EXIT_UNAVAILABLE;
    if (code != EXIT_OK) complain(work->command, "--jobs: out of memory");
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.reported_more, NULL);
    for (int i = 0; code == EXIT_OK && i < jobs; i++) {
        worker[i] = (worker_t){.pool = &pool, .check = work->check};
        code = check_contexts_make(&worker[i].check, work->command);
    }
    if (code == EXIT_OK) {
        work_together(worker, jobs);
        code = pool.code;
    }
    for (size_t i = 0; pool.slot && i < pool.slots; i++) free(pool.slot[i].text);
    for (int i = 0; worker && i < jobs; i++) check_contexts_free(&worker[i].check);
    pthread_cond_destroy(&pool.reported_more);
    pthread_mutex_destroy(&pool.lock);
    free(pool.slot);
    free(worker);
    return code;
}
