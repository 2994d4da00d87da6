/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the bench writes: tables for people, JSON and CSV for programs. One row is one contender of one
 * problem in one state of the cache. */
#ifndef TOOL_BENCH_REPORT_H
#define TOOL_BENCH_REPORT_H

#include "bench_case.h"
#include "output.h"

typedef struct bench_report {
    json_writer_t json; /* json.file is NULL: no JSON */
    FILE *csv;          /* NULL: no CSV               */
    bool tables;        /* on the standard output     */
} bench_report_t;

/* Opens the files (a name may be NULL; "-" is the standard output) and writes the heads: schema, commit,
 * date, the facts of this machine, settings. Returns an exit code; on failure the reason is printed. */
int bench_report_open(bench_report_t *report, const char *json, const char *csv,
                      const bench_options_t *options, const char *command);

/* Adds the rows of one problem. */
void bench_report_case(bench_report_t *report, const bench_case_t *bench);

/* Ends and closes. False when something could not be written. */
bool bench_report_close(bench_report_t *report);

/* The head of any JSON report of this tool, up to and with "machine". */
void report_json_head(json_writer_t *json, const char *schema, lac_ctx_t *ctx);

#endif
