/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Works out and prints the figures of a run, and draws its raster. */
#include "coba_report.h"
#include "coba_options.h"
#include "coba_network.h"

#include <inttypes.h>
#include <stdbool.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

static double rate_of(size_t spikes, coba_shape_t shape, int steps)
{
    return (double)spikes / ((double)shape.trials * shape.neurons * steps * COBA_DT * 1e-3);
}

/* The network counts as alive in a trial that fired within the last 10 ms: at its usual rate of some 20 Hz
 * several hundred spikes fall into that time. */
static int count_alive(const coba_spikes_t *spikes, coba_shape_t shape)
{
    const int since = shape.steps - (int)(10.0 / COBA_DT + 0.5);
    bool alive[COBA_TRIALS_MAX] = {false};
    int count = 0;
    for (size_t i = spikes->count; i-- > 0 && spikes->spike[i].step >= since;) {
        count += !alive[spikes->spike[i].trial];
        alive[spikes->spike[i].trial] = true;
    }
    return count;
}

coba_report_t coba_report_make(const coba_result_t *result, coba_shape_t shape, double wall_seconds)
{
    size_t late = 0;
    const int half = shape.steps / 2;
    while (late < result->spikes.count &&
           result->spikes.spike[result->spikes.count - 1 - late].step >= half) {
        late++;
    }
    return (coba_report_t){
        .seconds = shape.steps * COBA_DT * 1e-3,
        .wall_seconds = wall_seconds,
        .rate = rate_of(result->spikes.count, shape, shape.steps),
        .late_rate = rate_of(late, shape, shape.steps - half),
        .density = (double)result->spikes.count / ((double)shape.trials * shape.neurons * shape.steps),
        .alive = count_alive(&result->spikes, shape),
    };
}

void coba_report_summary(FILE *out, const coba_report_t *report, const coba_result_t *result,
                         coba_shape_t shape)
{
    const size_t count = (size_t)shape.trials * (size_t)shape.neurons;
    fprintf(out,
            "coba neurons=%d trials=%d steps=%d rate_hz=%.3f late_rate_hz=%.3f alive_trials=%d spikes=%zu "
            "density=%.6f products=%" PRId64 " product_s=%.4f loop_s=%.4f total_s=%.4f "
            "raster_checksum=%016" PRIx64 " potential_checksum=%016" PRIx64 "\n",
            shape.neurons, shape.trials, shape.steps, report->rate, report->late_rate, report->alive,
            result->spikes.count, report->density, result->products, result->product_seconds,
            result->loop_seconds, report->wall_seconds, coba_spikes_checksum(&result->spikes),
            coba_floats_checksum(result->v, count));
}

void coba_report_text(FILE *out, const coba_report_t *report, const coba_result_t *result, coba_shape_t shape)
{
    fprintf(out,
            "%d neurons x %d trials, %.3f s simulated: %zu spikes, %.1f Hz (second half %.1f Hz), "
            "%d of %d trials active to the end\n",
            shape.neurons, shape.trials, report->seconds, result->spikes.count, report->rate,
            report->late_rate, report->alive, shape.trials);
    fprintf(out,
            "%" PRId64 " products, %.3f %% of the left operand nonzero: %.2f s of %.2f s (%.3f ms a step)\n",
            result->products, 100.0 * report->density, result->product_seconds, report->wall_seconds,
            1e3 * result->loop_seconds / shape.steps);
}

/* Draws a raster with braille dots, or with ASCII where the terminal has no others. */

/* A cell of the picture is 2 dots of time wide and 4 neurons high, as a braille character is. */
enum { COLUMNS = 88, ROWS = 22, DOTS_X = 2 * COLUMNS, DOTS_Y = 4 * ROWS };

typedef struct picture {
    unsigned char dot[DOTS_Y][DOTS_X]; /* 1 where the row's neuron fired                   */
    int64_t count[COLUMNS];            /* spikes of all neurons of the trial               */
    int rows;                          /* rows of dots in use: fewer for a small network   */
} picture_t;

/* The dot row of a neuron, or -1 when it is not among those drawn. Row r shows neuron r * neurons / rows. */
static int row_of(const picture_t *picture, int neuron, int neurons)
{
    const int64_t row = ((int64_t)neuron * picture->rows + neurons - 1) / neurons;
    return row < picture->rows && row * neurons / picture->rows == neuron ? (int)row : -1;
}

static void collect(picture_t *picture, const coba_spikes_t *spikes, coba_shape_t shape)
{
    picture->rows = shape.neurons < DOTS_Y ? shape.neurons : DOTS_Y;
    for (size_t i = 0; i < spikes->count; i++) {
        const coba_spike_t s = spikes->spike[i];
        if (s.trial != 0) continue;
        const int x = (int)((int64_t)s.step * DOTS_X / shape.steps);
        const int y = row_of(picture, s.neuron, shape.neurons);
        picture->count[x / 2]++;
        if (y >= 0) picture->dot[y][x] = 1;
    }
}

/* Braille patterns start at U+2800; dots 1-3 and 7 run down the left column, 4-6 and 8 down the right. */
static void put_braille(FILE *out, const picture_t *picture, int row, int column)
{
    static const unsigned char bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    unsigned pattern = 0;
    for (int y = 0; y < 4; y++) {
        for (int x = 0; x < 2; x++) {
            if (picture->dot[4 * row + y][2 * column + x]) pattern |= bit[y][x];
        }
    }
    fputc(0xe2, out);
    fputc((int)(0xa0 | pattern >> 6), out);
    fputc((int)(0x80 | (pattern & 0x3f)), out);
}

static void put_ascii(FILE *out, const picture_t *picture, int row, int column)
{
    int dots = 0;
    for (int y = 0; y < 4; y++) {
        for (int x = 0; x < 2; x++) dots += picture->dot[4 * row + y][2 * column + x];
    }
    fputc(" .:+*####"[dots], out);
}

/* A bar of eighths of the highest column. */
static void put_rates(FILE *out, const picture_t *picture, bool utf8)
{
    int64_t highest = 1;
    for (int column = 0; column < COLUMNS; column++) {
        if (picture->count[column] > highest) highest = picture->count[column];
    }
    for (int column = 0; column < COLUMNS; column++) {
        const int eighths = (int)((8 * picture->count[column] + highest - 1) / highest);
        if (utf8 && eighths > 0) {
            fprintf(out, "\xe2\x96%c", 0x80 + eighths); /* U+2581 to U+2588 */
        } else {
            fputc(" .,:-=+*#"[eighths], out);
        }
    }
}

static const char *row_label(int row, int excitatory_rows)
{
    if (row == 0) return "exc";
    return row == excitatory_rows ? "inh" : "";
}

int coba_picture_draw(FILE *out, const coba_spikes_t *spikes, coba_shape_t shape)
{
    const bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    picture_t *picture = calloc(1, sizeof *picture);
    if (!picture) return -1;
    collect(picture, spikes, shape);

    const int rows = (picture->rows + 3) / 4;
    const int excitatory_rows = (int)((int64_t)rows * shape.excitatory / shape.neurons);
    for (int row = 0; row < rows; row++) {
        fprintf(out, "%4s |", row_label(row, excitatory_rows));
        for (int column = 0; column < COLUMNS; column++) {
            (utf8 ? put_braille : put_ascii)(out, picture, row, column);
        }
        fputs("|\n", out);
    }
    fputs("rate |", out);
    put_rates(out, picture, utf8);
    fprintf(out, "|\n      0 ms%*.1f ms\n", COLUMNS - 7, shape.steps * COBA_DT);
    fprintf(out, "      trial 0: %d of its %d neurons, and the spikes of all of them\n", picture->rows,
            shape.neurons);
    free(picture);
    return 0;
}
