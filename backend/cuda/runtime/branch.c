/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A conditional node in a graph that is being captured. Both ways are recorded first, apart, so that where
 * one of them cannot be, the capture is as it was. */
#include "exec.h"
#include "capture.h"
#include "base/status.h"

#if CUDART_VERSION >= 13000

#    define DRIVER_MIN 12080 /* a condition with two ways */

static lac_status_t record(lac_exec_t *exec, lac_work_fn work, void *arg, cudaGraph_t *graph)
{
    *graph = NULL;
    lac_status_t status =
        lac_cuda_check_error(cudaStreamBeginCapture(exec->stream, cudaStreamCaptureModeRelaxed), "branch");
    if (status) return status;
    status = work(arg);
    cudaError_t ended = cudaStreamEndCapture(exec->stream, graph);
    return status ? status : lac_cuda_check_error(ended, "branch");
}

/* Where the capture on a stream stands. */
typedef struct front {
    cudaGraph_t graph;
    const cudaGraphNode_t *node;
    const cudaGraphEdgeData *edge;
    size_t count;
} front_t;

static lac_status_t find_front(cudaStream_t stream, front_t *front)
{
    enum cudaStreamCaptureStatus capturing;
    unsigned long long id;
    lac_status_t status =
        lac_cuda_check_error(cudaStreamGetCaptureInfo(stream, &capturing, &id, &front->graph, &front->node,
                                                      &front->edge, &front->count),
                             "branch");
    if (!status && capturing != cudaStreamCaptureStatusActive)
        status = lac_fail(LAC_ERR_VENDOR, "branch: the stream is not being captured");
    return status;
}

/* The node with its two ways, behind whatever the stream's capture holds. */
static lac_status_t add_node(cudaStream_t stream, cudaGraphConditionalHandle handle, const cudaGraph_t way[2])
{
    front_t front;
    cudaGraphNode_t node, inner;
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.size = 2;
    lac_status_t status = find_front(stream, &front);
    if (!status)
        status = lac_cuda_check_error(
            cudaGraphAddNode(&node, front.graph, front.node, front.edge, front.count, &params), "branch");
    for (int i = 0; !status && i < 2; i++)
        status = lac_cuda_check_error(
            cudaGraphAddChildGraphNode(&inner, params.conditional.phGraph_out[i], NULL, 0, way[i]), "branch");
    if (!status)
        status = lac_cuda_check_error(
            cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, cudaStreamSetCaptureDependencies),
            "branch");
    return status;
}

/* The graph sees to it from now on that branch->on_release is called. */
static lac_status_t hand_over(lac_branch_t *branch, cudaGraph_t graph, bool *owned)
{
    cudaUserObject_t owner = NULL;
    lac_status_t status = lac_cuda_check_error(
        cudaUserObjectCreate(&owner, branch->owner, branch->on_release, 1, cudaUserObjectNoDestructorSync),
        "branch");
    if (status) return status;
    *owned = true;
    status =
        lac_cuda_check_error(cudaGraphRetainUserObject(graph, owner, 1, cudaGraphUserObjectMove), "branch");
    if (status) cudaUserObjectRelease(owner, 1);
    return status;
}

static lac_status_t add_branch(lac_branch_t *branch, const cudaGraph_t way[2], bool *owned)
{
    front_t front;
    cudaGraphConditionalHandle handle;
    const lac_operand_t *x = branch->x;
    lac_cuda_matrix_t matrix = {x->dt, x->buf, branch->rows, branch->cols, x->rs, x->cs};
    lac_status_t status = find_front(branch->stream, &front);
    if (!status) status = hand_over(branch, front.graph, owned);
    if (status) return status;
    branch->touched = true;
    status = lac_cuda_check_error(
        cudaGraphConditionalHandleCreate(&handle, front.graph, 0, cudaGraphCondAssignDefault), "branch");
    if (!status)
        status = lac_cuda_launched(lac_cuda_probe_condition(&matrix, branch->limit, handle, branch->stream),
                                   "branch");
    return status ? status : add_node(branch->stream, handle, way);
}

/* Both ways, which are recorded apart first. */
static lac_status_t add_both(lac_exec_t *exec, lac_branch_t *branch, bool *owned)
{
    int driver = 0;
    cudaGraph_t way[2] = {NULL, NULL};
    lac_status_t status = lac_cuda_check_error(cudaDriverGetVersion(&driver), "branch");
    if (!status && driver < DRIVER_MIN)
        status = lac_fail(LAC_ERR_UNAVAILABLE, "branch: the driver is older than CUDA 12.8");
    if (!status) status = branch->prepare(branch->arg);
    lac_cuda_graph_capture_begin();
    if (!status) status = record(exec, branch->sparse_path, branch->arg, &way[0]);
    if (!status) status = record(exec, branch->dense_path, branch->arg, &way[1]);
    if (!status) status = add_branch(branch, way, owned);
    lac_cuda_graph_capture_end();
    for (int i = 0; i < 2; i++)
        if (way[i]) cudaGraphDestroy(way[i]);
    return status;
}

/* The one way there is, straight into the capture. */
static lac_status_t add_one(lac_exec_t *exec, lac_branch_t *branch, bool *owned)
{
    front_t front;
    cudaStream_t own = exec->stream;
    lac_status_t status = branch->prepare(branch->arg);
    lac_cuda_graph_capture_begin();
    if (!status) status = find_front(branch->stream, &front);
    if (!status) status = hand_over(branch, front.graph, owned);
    if (!status) {
        branch->touched = true;
        exec->stream = branch->stream;
        status = branch->dense_path(branch->arg);
        exec->stream = own;
    }
    lac_cuda_graph_capture_end();
    return status;
}

lac_status_t lac_cuda_branch(lac_exec_t *exec, lac_branch_t *branch)
{
    bool owned = false;
    /* What is made here is no business of the capture, which may be one that forbids it. */
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    lac_status_t status =
        branch->sparse_path ? add_both(exec, branch, &owned) : add_one(exec, branch, &owned);
    if (!owned) branch->on_release(branch->owner);
    cudaGetLastError();
    lac_cuda_capture_relaxed_end(mode);
    return status;
}

#else

lac_status_t lac_cuda_branch(lac_exec_t *exec, lac_branch_t *branch)
{
    (void)exec;
    branch->on_release(branch->owner);
    return lac_fail(LAC_ERR_UNAVAILABLE, "branch: built with a CUDA older than 13");
}

#endif
