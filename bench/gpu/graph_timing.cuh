/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Timing shared by the GPU benches: a call, captured several times into a graph, replayed; the median. */
#ifndef LACUNA_GRAPH_TIMING_CUH
#define LACUNA_GRAPH_TIMING_CUH

#include <algorithm>
#include <functional>
#include <vector>

#include "../../tests/gpu/gpu_harness.cuh"

namespace
{

constexpr int kReplays = 11;
cudaStream_t stream;

using Call = std::function<lac_status_t(int copy)>;

/* A graph of `calls` calls; NULL when a launch is refused. */
cudaGraphExec_t record_graph(const Call &call, int calls, int copies)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    lac_status_t status = LAC_OK;
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int c = 0; c < calls && status == LAC_OK; c++) status = call(c % copies);
    cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    if (status != LAC_OK || ended != cudaSuccess || cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) {
        cudaGetLastError();
        return nullptr;
    }
    cudaGraphDestroy(graph);
    return exec;
}

/* Median microseconds of one of its calls. */
double time_replays(cudaGraphExec_t exec, int calls)
{
    cudaEvent_t a, b;
    CUDA_CHECK(cudaEventCreate(&a));
    CUDA_CHECK(cudaEventCreate(&b));
    std::vector<double> us;
    for (int r = 0; r < kReplays + 3; r++) {
        CUDA_CHECK(cudaEventRecord(a, stream));
        CUDA_CHECK(cudaGraphLaunch(exec, stream));
        CUDA_CHECK(cudaEventRecord(b, stream));
        CUDA_CHECK(cudaEventSynchronize(b));
        float ms;
        CUDA_CHECK(cudaEventElapsedTime(&ms, a, b));
        if (r >= 3) us.push_back(1e3 * ms / calls);
    }
    cudaEventDestroy(a), cudaEventDestroy(b);
    std::sort(us.begin(), us.end());
    return us[us.size() / 2];
}

/* The same of a graph made for it; negative when a launch is refused. */
double time_graph(const Call &call, int calls, int copies)
{
    cudaGraphExec_t exec = record_graph(call, calls, copies);
    if (!exec) return -1;
    const double us = time_replays(exec, calls);
    cudaGraphExecDestroy(exec);
    return us;
}

/* The opening of a results file: what was measured on, with what, of which commit, when. schema: of the rows
 * that follow, where it is not that of the first benches. */
void write_provenance(FILE *file, int cublas, const char *schema = nullptr)
{
    cudaDeviceProp prop;
    CUDA_CHECK(cudaGetDeviceProperties(&prop, 0));
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver), cudaRuntimeGetVersion(&runtime);
    const auto given = [](const char *name) { return getenv(name) ? getenv(name) : ""; };
    fprintf(file, "{");
    if (schema) fprintf(file, "\"schema\": \"%s\", ", schema);
    fprintf(
        file,
        "\"device\": \"%s\", \"driver\": \"%s\", \"cuda_driver\": %d, \"cuda_runtime\": %d, \"cublas\": %d, "
        "\"commit\": \"%s\", \"date\": \"%s\", \"replays\": %d, \"results\": [",
        prop.name, given("LACUNA_DRIVER"), driver, runtime, cublas, given("LACUNA_COMMIT"),
        given("LACUNA_DATE"), kReplays);
}

/* One way to serve a problem, as bench/render.py reads it. */
void write_time(FILE *file, bool &first, const char *problem, const char *route, double us)
{
    fprintf(file, "%s\n  {\"problem\": \"%s\", \"route\": \"%s\", \"us\": %.3f}", first ? "" : ",", problem,
            route, us);
    first = false;
}

constexpr const char *kOperators = "lacuna-operators-1";

} // namespace
#endif
