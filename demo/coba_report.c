/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Works out and prints the figures of a run. */
#include "coba_report.h"

#include <inttypes.h>
#include <stdbool.h>

#include "coba_options.h"

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
