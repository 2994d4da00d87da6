/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What the bench writes. */
#include "bench_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lacuna_commit.h"
#include "output.h"
#include "timing.h"

#define OTHERS_NOTED 0.05

typedef struct bench_row {
    const bench_contender_t *contender;
    const lac_decision_t *decision;
    const char *cache, *timing;
    bool timed;
    int inner;
    sample_stats_t us;
    double speedup, gflops, gbytes; /* 0 where nothing was timed           */
    double of_roofline;             /* floor / median; 0 where none is known */
} bench_row_t;

/* A contender that takes neither side as sparse is measured by the dense product's work. */
static bool works_densely(const bench_row_t *row)
{
    return !row->contender->ctx || !row->decision->side || row->decision->side[0] == '\0';
}

static bench_row_t make_row(const bench_case_t *bench, int index, bench_cache_t cache)
{
    const timed_contender_t *timed = &bench->timed[cache][index];
    bench_row_t row = {.contender = &bench->contender[index], .cache = bench_cache_name(cache)};
    row.decision = bench_decision(bench, index, cache);
    row.timing = bench_timing_name(bench, cache);
    row.timed = bench_timed(bench, index, cache);
    if (!row.timed) return row;
    row.inner = timed->inner;
    row.us = sample_stats(timed->sample, timed->count);
    if (bench_timed(bench, 0, cache)) row.speedup = paired_speedup(&bench->timed[cache][0], timed);
    bool dense = works_densely(&row);
    row.gflops = (dense ? bench->work.dense_flops : bench->work.useful_flops) / row.us.median * 1e-3;
    row.gbytes = (dense ? bench->work.dense_bytes : bench->work.sparse_bytes) / row.us.median * 1e-3;
    row.of_roofline = bench->floor_us / row.us.median;
    return row;
}

static void add_fact(void *arg, const char *key, const char *value)
{
    json_text(arg, key, value);
}

void report_json_head(json_writer_t *json, const char *schema, lac_ctx_t *ctx)
{
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    json_begin(json, NULL, '{');
    json_text(json, "schema", schema);
    json_text(json, "commit", LACUNA_COMMIT);
    json_text(json, "date", date);
    double load = -1.0;
    getloadavg(&load, 1);
    json_number(json, "load_average", load); /* what else ran: a shared machine's figures are to be doubted */
    json_begin(json, "machine", '{');
    lac_ctx_info(ctx, add_fact, json);
    json_end(json, '}');
}

typedef struct machine_note {
    bool wide; /* the processor has AVX2 or AVX-512 */
    char blas[160];
} machine_note_t;

static void note_fact(void *arg, const char *key, const char *value)
{
    machine_note_t *note = arg;
    if (strcmp(key, "instruction set") == 0) note->wide = strncmp(value, "avx", 3) == 0;
    if (strcmp(key, "blas version") == 0) snprintf(note->blas, sizeof note->blas, "%s", value);
}

/* An OpenBLAS older than its processor falls back to kernels of 2004: a baseline that flatters. */
static void warn_of_old_kernels(lac_ctx_t *ctx, const char *command)
{
    machine_note_t note = {0};
    lac_ctx_info(ctx, note_fact, &note);
    if (note.wide && strstr(note.blas, "OpenBLAS") && strstr(note.blas, "Prescott"))
        complain(command,
                 "note: this OpenBLAS does not know the processor and runs its oldest kernels (Prescott): "
                 "speeds over it flatter. OPENBLAS_CORETYPE=SkylakeX (or Haswell) names better ones");
}

static void csv_head(FILE *csv)
{
    fputs(
        "problem,cache,route,status,baseline,samples,calls_per_sample,min_us,p25_us,median_us,p75_us,p95_us,"
        "max_us,speedup,gflops,gbytes_per_s,first_us,decided_route,decided_side,decided_reason,known,density,"
        "note\n",
        csv);
}

int bench_report_open(bench_report_t *report, const char *json, const char *csv,
                      const bench_options_t *options, const char *command)
{
    lac_ctx_t *ctx;
    int code = common_context(&options->common, command, &ctx);
    if (code != EXIT_OK) return code;
    bool to_stdout = (json && strcmp(json, "-") == 0) || (csv && strcmp(csv, "-") == 0);
    *report = (bench_report_t){.tables = !to_stdout && !options->common.quiet};
    if (json && !json_open(&report->json, json)) {
        complain(command, "--json: cannot write '%s': %s", json, strerror(errno));
        code = EXIT_UNAVAILABLE;
    } else if (csv && !(report->csv = strcmp(csv, "-") == 0 ? stdout : fopen(csv, "w"))) {
        complain(command, "--csv: cannot write '%s': %s", csv, strerror(errno));
        code = EXIT_UNAVAILABLE;
    }
    if (code == EXIT_OK && !options->common.quiet) warn_of_old_kernels(ctx, command);
    if (report->csv) csv_head(report->csv);
    if (code == EXIT_OK && json) {
        report_json_head(&report->json, "lacuna-bench-1", ctx);
        json_number(&report->json, "min_time_s", options->min_time_s);
        json_integer(&report->json, "repeat", options->repeat);
        json_begin(&report->json, "problems", '[');
    }
    lac_ctx_free(ctx);
    return code;
}

bool bench_report_close(bench_report_t *report)
{
    bool ok = true;
    if (report->json.file) {
        json_end(&report->json, ']');
        json_end(&report->json, '}');
        ok = json_close(&report->json);
    }
    if (report->csv) {
        if (fflush(report->csv) != 0 || ferror(report->csv)) ok = false;
        if (report->csv != stdout && fclose(report->csv) != 0) ok = false;
    }
    return ok;
}

static void json_row(json_writer_t *json, const bench_row_t *row)
{
    const bench_contender_t *contender = row->contender;
    json_begin(json, NULL, '{');
    json_text(json, "route", contender->route);
    json_text(json, "cache", row->cache);
    json_text(json, "timing", row->timing);
    json_truth(json, "baseline", contender->baseline);
    json_text(json, "status", bench_status_name(contender->status));
    if (*contender->why) json_text(json, "note", contender->why);
    if (row->timed) {
        json_integer(json, "samples", (int64_t)row->us.count);
        json_integer(json, "calls_per_sample", row->inner);
        json_number(json, "min_us", row->us.min);
        json_number(json, "p25_us", row->us.p25);
        json_number(json, "median_us", row->us.median);
        json_number(json, "p75_us", row->us.p75);
        json_number(json, "p95_us", row->us.p95);
        json_number(json, "max_us", row->us.max);
        json_number(json, "speedup", row->speedup);
        json_number(json, "gflops", row->gflops);
        json_number(json, "gbytes_per_s", row->gbytes);
        json_number(json, "first_us", contender->first_us);
        if (row->of_roofline > 0.0) json_number(json, "of_roofline", row->of_roofline);
        if (contender->host_us >= 0.0) json_number(json, "host_us", contender->host_us);
    }
    if (row->timed && contender->ctx) {
        json_text(json, "decided_route", row->decision->route);
        json_text(json, "decided_side", row->decision->side);
        json_text(json, "decided_reason", row->decision->reason);
        json_text(json, "known", row->decision->known);
        json_number(json, "density", row->decision->density);
        json_number(json, "predicted_us", row->decision->cost_us);
    }
    json_end(json, '}');
}

static void json_case(bench_report_t *report, const bench_case_t *bench)
{
    json_writer_t *json = &report->json;
    json_begin(json, NULL, '{');
    json_text(json, "problem", bench->set.text);
    json_number(json, "others_share", bench->others);
    json_number(json, "density_a", bench->work.density_a);
    json_number(json, "density_b", bench->work.density_b);
    json_number(json, "active_k", bench->work.active_k);
    json_number(json, "dense_flops", bench->work.dense_flops);
    json_number(json, "useful_flops", bench->work.useful_flops);
    json_number(json, "dense_bytes", bench->work.dense_bytes);
    json_number(json, "sparse_bytes", bench->work.sparse_bytes);
    if (bench->floor_us > 0.0) {
        json_number(json, "floor_bytes", bench->work.floor_bytes);
        json_number(json, "floor_us", bench->floor_us);
    }
    if (bench->scan_a_us >= 0.0) json_number(json, "scan_a_us", bench->scan_a_us);
    if (bench->scan_b_us >= 0.0) json_number(json, "scan_b_us", bench->scan_b_us);
    json_begin(json, "rows", '[');
}

static void csv_row(FILE *csv, const char *problem, const bench_row_t *row)
{
    const bench_contender_t *contender = row->contender;
    bool decided = row->timed && contender->ctx;
    const lac_decision_t *d = row->decision;
    fprintf(csv, "%s,%s,%s,%s,%d,%zu,%d,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,", problem,
            row->cache, contender->route, bench_status_name(contender->status), contender->baseline,
            row->us.count, row->inner, row->us.min, row->us.p25, row->us.median, row->us.p75, row->us.p95,
            row->us.max, row->speedup, row->gflops, row->gbytes, contender->first_us);
    fprintf(csv, "%s,%s,\"%s\",%s,%.6g,\"%s\"\n", decided ? d->route : "", decided ? d->side : "",
            decided ? d->reason : "", decided ? d->known : "", decided ? d->density : -1.0, contender->why);
}

static void table_row(text_table_t *table, const bench_row_t *row, bool device)
{
    const bench_contender_t *contender = row->contender;
    const lac_decision_t *d = row->decision;
    text_table_cell(table, "%s", contender->route);
    text_table_cell(table, "%s", row->cache);
    if (row->timed) {
        text_table_cell(table, "%.2f", row->us.median);
        text_table_cell(table, "%.2f..%.2f", row->us.p25, row->us.p75);
        text_table_cell(table, "%.2f", row->us.min);
        text_table_cell(table, "%.*fx", row->speedup < 10.0 ? 2 : row->speedup < 100.0 ? 1 : 0, row->speedup);
        text_table_cell(table, "%.3g", row->gflops);
        text_table_cell(table, "%.3g", row->gbytes);
        if (device) text_table_cell(table, "%.0f", 100.0 * row->of_roofline);
        if (device && contender->host_us >= 0.0)
            text_table_cell(table, "%.2f", contender->host_us);
        else if (device)
            text_table_cell(table, "-");
    } else
        for (int i = 0; i < (device ? 8 : 6); i++) text_table_cell(table, "-");
    if (contender->status != BENCH_OK)
        text_table_cell(table, "%s: %s", bench_status_name(contender->status), contender->why);
    else if (contender->baseline)
        text_table_cell(table, "baseline%s%s", *contender->why ? ", " : "", contender->why);
    else if (!contender->call.route && d->route)
        text_table_cell(table, "-> %s%s%s (%s; known: %s)", d->route, *d->side ? " " : "", d->side, d->reason,
                        d->known);
    else if (contender->ctx)
        text_table_cell(table, "%s", d->side);
    else
        text_table_cell(table, "the BLAS, as a vector");
}

static void print_case(const bench_case_t *bench, text_table_t *table)
{
    progress_clear();
    printf("%s\n  density A %.3g, B %.3g; k at which both have a nonzero: %.3g", bench->set.text,
           bench->work.density_a, bench->work.density_b, bench->work.active_k);
    if (bench->scan_a_us >= 0.0) printf("; to scan A for its metadata: %.1f us", bench->scan_a_us);
    if (bench->scan_b_us >= 0.0) printf("; to scan B for its metadata: %.1f us", bench->scan_b_us);
    if (bench->others > OTHERS_NOTED)
        printf("; noisy machine: other programs used %.0f %% of the processors", 100.0 * bench->others);
    if (bench->floor_us > 0.0)
        printf("; floor %.2f us (%.3g MB)", bench->floor_us, bench->work.floor_bytes * 1e-6);
    printf("\n");
    text_table_print(table, stdout, 2);
    printf("\n");
    fflush(stdout);
}

/* A contender that was never timed has one row, not one for each state of the cache. */
static bool row_is_due(const bench_case_t *bench, int contender, int cache)
{
    if (bench_timed(bench, contender, (bench_cache_t)cache)) return true;
    return cache == BENCH_WARM && !bench_timed(bench, contender, BENCH_COLD) &&
           !bench_timed(bench, contender, BENCH_QUEUED);
}

void bench_report_case(bench_report_t *report, const bench_case_t *bench)
{
    static const char *const host_heads[] = {"route",    "cache",    ">median us", ">p25..p75", ">min us",
                                             ">speedup", ">GFLOP/s", ">GB/s",      "note"};
    static const char *const device_heads[] = {"route",          "cache",    ">median us", ">p25..p75",
                                               ">min us",        ">speedup", ">GFLOP/s",   ">GB/s",
                                               ">% of roofline", ">host us", "note"};
    bool device = computes_on_device(bench->ctx);
    text_table_t *table = !report->tables ? NULL
                          : device        ? text_table_new(11, device_heads)
                                          : text_table_new(9, host_heads);
    if (report->json.file) json_case(report, bench);
    for (int cache = 0; cache < BENCH_CACHES; cache++)
        for (int i = 0; i < bench->contenders; i++) {
            if (!row_is_due(bench, i, cache)) continue;
            bench_row_t row = make_row(bench, i, (bench_cache_t)cache);
            if (report->json.file) json_row(&report->json, &row);
            if (report->csv) csv_row(report->csv, bench->set.text, &row);
            if (table) table_row(table, &row, device);
        }
    if (report->json.file) {
        json_end(&report->json, ']');
        json_end(&report->json, '}');
    }
    if (table) print_case(bench, table);
    text_table_free(table);
}
