/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * An event-driven workload that knows of no sparse library: a spiking network whose synapses are matrix
 * products, served as coba_synapses.h says.
 *
 * The network is that of Vogels and Abbott (2005) with the parameters of Brette et al. (2007), benchmark 1;
 * coba_network.h has the equations and the references. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coba_network.h"
#include "coba_options.h"
#include "coba_report.h"
#include "coba_simulate.h"
#include "coba_synapses.h"

static void show_progress(int step, int steps)
{
    if (step % 50 == 0 || step == steps) {
        fprintf(stderr, "\r%3d %% of %.1f ms%s", (int)(100.0 * step / steps), steps * COBA_DT,
                step == steps ? "\r\033[K" : "");
    }
}

static int write_files(const coba_options_t *options, const coba_result_t *result, coba_shape_t shape)
{
    if (options->raster && coba_spikes_write(&result->spikes, shape, options->raster) != 0) {
        fprintf(stderr, "coba: --raster: cannot write '%s': %s\n", options->raster, strerror(errno));
        return -1;
    }
    if (options->potentials && coba_potentials_write(result->v, shape, options->potentials) != 0) {
        fprintf(stderr, "coba: --potentials: cannot write '%s': %s\n", options->potentials, strerror(errno));
        return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const double start = coba_seconds();
    coba_network_t network = {0};
    coba_result_t result = {0};
    coba_synapses_t *synapses = NULL;
    int status = EXIT_FAILURE;

    setlocale(LC_CTYPE, "");
    const coba_options_t options = coba_options_parse(argc, argv);
    if (coba_network_build(&network, options.neurons, options.connectivity, options.seed) != 0) {
        fprintf(stderr, "coba: --neurons: no memory for the weights of %d neurons (%.1f GB)\n",
                options.neurons, 4e-9 * options.neurons * options.neurons);
        goto done;
    }
    const coba_shape_t shape = {options.neurons, network.excitatory, options.trials, options.steps};
    synapses = coba_synapses_open(&network, options.trials);
    if (!synapses || coba_simulate(&network, synapses, options.trials, options.steps, options.seed,
                                   isatty(STDERR_FILENO) ? show_progress : NULL, &result) != 0) {
        fprintf(stderr, "coba: --trials, --ms: no memory for %d trials of %d steps\n", options.trials,
                options.steps);
        goto done;
    }
    const coba_report_t report = coba_report_make(&result, shape, coba_seconds() - start);
    if (options.picture && coba_picture_draw(stdout, &result.spikes, shape) != 0) goto done;
    (options.summary ? coba_report_summary : coba_report_text)(stdout, &report, &result, shape);
    coba_synapses_note(synapses, stdout);
    if (write_files(&options, &result, shape) != 0) goto done;
    if (fflush(stdout) != 0) {
        fprintf(stderr, "coba: cannot write to standard output: %s\n", strerror(errno));
        goto done;
    }
    status = EXIT_SUCCESS;

done:
    coba_synapses_close(synapses);
    coba_result_free(&result);
    coba_network_free(&network);
    return status;
}
