/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The CUDA runtime's calls, which keep books of memory, streams, events and graphs. */
#include "standin.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 4096 };

/* What a handle stands for. */
typedef enum kind { MEMORY, PINNED, STREAM, EVENT, GRAPH, EXECUTABLE, OBJECT } kind_t;

typedef struct thing {
    kind_t kind;
    void *handle; /* NULL: an empty place */
    size_t bytes; /* of memory, and where it lies */
    int device;
    bool capturing, recorded, instantiated;
    enum cudaStreamCaptureMode mode;
    double us;            /* of an event */
    cudaGraph_t graph;    /* of a stream that is captured, of an executable */
    cudaHostFn_t release; /* of a user object, and what it is called with */
    void *owner;
    cudaGraph_t kept_by; /* the graph that keeps a user object */
} thing_t;

standin_t standin;
static thing_t things[PLACES];
static int vendor_held;
static unsigned peers_enabled; /* a bit for each peer */
static cudaError_t last;
static enum cudaStreamCaptureMode thread_mode;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void standin_breach(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("breach: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    standin.breaches++;
}

void standin_forget(void)
{
    standin.calls = standin.breaches = standin.mallocs = standin.memsets = standin.launches = 0;
}

__attribute__((constructor)) void standin_reset(void)
{
    standin.devices = 1, standin.current = 0, standin.name = "NVIDIA H200 (a stand-in)";
    standin.major = 9, standin.minor = 0, standin.processors = 132, standin.clock_khz = 1980000;
    standin.memory_khz = 3201000, standin.bus_bits = 6144, standin.driver = 13000;
    standin.shared = 232448;
    standin.nnz = standin.active = 0, standin.room = 1, standin.sampled = -1,
    standin.sampled_lines = standin.sampled_pieces = 0;
    standin.busy = false, standin.clock_us = standin.launch_us = standin.tick_us = 0.0;
    standin.resets = 0;
    standin.apart = standin.unshared = false, standin.nccl_state = standin.nccl_busy = 0, standin.mapped = 0;
    peers_enabled = 0;
    standin.fails = standin.launch_fails = standin.vendor_fails = 0, standin.largest = 0;
    last = cudaSuccess;
    thread_mode = cudaStreamCaptureModeGlobal;
    standin_forget();
}

static thing_t *find(kind_t kind, const void *handle)
{
    for (int i = 0; handle && i < PLACES; i++)
        if (things[i].handle == handle && things[i].kind == kind) return &things[i];
    return NULL;
}

static thing_t *add(kind_t kind, void *handle)
{
    for (int i = 0; i < PLACES; i++)
        if (!things[i].handle) {
            things[i] = (thing_t){.kind = kind, .handle = handle};
            return &things[i];
        }
    abort();
}

static void *create(kind_t kind)
{
    thing_t *x = add(kind, malloc(16));
    x->device = standin.current;
    return x->handle;
}

/* The thing of a handle; NULL and a breach where it is gone or never was. */
static thing_t *expect(kind_t kind, const void *handle, const char *what)
{
    thing_t *x = find(kind, handle);
    if (!x) standin_breach("%s: a handle that is not alive", what);
    return x;
}

static cudaError_t failed(cudaError_t error)
{
    if (error != cudaSuccess) last = error;
    return error;
}

/* True where the test wants this call to fail. */
static bool refused(void)
{
    standin.calls++;
    return standin.fails && --standin.fails == 0;
}

/* The stream of a call: one that is alive, the default one, or the thread's. */
static thing_t *stream_of(cudaStream_t stream, const char *what)
{
    return !stream || stream == cudaStreamPerThread ? NULL : expect(STREAM, stream, what);
}

static bool is_capturing(const thing_t *stream)
{
    return stream && stream->capturing;
}

/* What may not be called while a stream is captured, unless the thread said that it is no business of the
 * capture.
 */
static bool unsafe(const char *what)
{
    for (int i = 0; i < PLACES; i++)
        if (things[i].handle && things[i].kind == STREAM && things[i].capturing &&
            things[i].mode != cudaStreamCaptureModeRelaxed && thread_mode != cudaStreamCaptureModeRelaxed) {
            standin_breach("%s while a stream is captured", what);
            return true;
        }
    return false;
}

standin_held_t standin_held(void)
{
    standin_held_t held = {.vendor = 0};
    int *const count[] = {&held.memory, &held.pinned,      &held.streams, &held.events,
                          &held.graphs, &held.executables, &held.objects};
    for (int i = 0; i < PLACES; i++)
        if (things[i].handle) {
            ++*count[things[i].kind];
            if (things[i].kind == MEMORY) held.bytes += things[i].bytes;
        }
    held.vendor = vendor_held;
    return held;
}

int standin_held_count(void)
{
    standin_held_t x = standin_held();
    return x.memory + x.pinned + x.streams + x.events + x.graphs + x.executables + x.objects + x.vendor;
}

int standin_last_error(void)
{
    return (int)last;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch ((int)error) {
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorLaunchFailure:
        return "unspecified launch failure";
    default:
        return "an error of the stand-in";
    }
}

/* Devices --------------------------------------------------------------------------------------------------
 */

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = standin.devices;
    if (refused()) return failed(cudaErrorLaunchFailure);
    return standin.devices ? cudaSuccess
                           : failed(standin.driver ? cudaErrorNoDevice : cudaErrorInsufficientDriver);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = standin.current;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= standin.devices) return failed(cudaErrorInvalidDevice);
    standin.current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    *properties = (struct cudaDeviceProp){.major = standin.major, .minor = standin.minor};
    properties->sharedMemPerBlockOptin = standin.shared;
    snprintf(properties->name, sizeof properties->name, "%s", standin.name);
    if (refused()) return failed(cudaErrorLaunchFailure);
    return device >= 0 && device < standin.devices ? cudaSuccess : failed(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int device)
{
    (void)device;
    switch ((int)what) {
    case cudaDevAttrMultiProcessorCount:
        *value = standin.processors;
        break;
    case cudaDevAttrClockRate:
        *value = standin.clock_khz;
        break;
    case cudaDevAttrMemoryClockRate:
        *value = standin.memory_khz;
        break;
    case cudaDevAttrGlobalMemoryBusWidth:
        *value = standin.bus_bits;
        break;
    case cudaDevAttrL2CacheSize:
        *value = 50 << 20;
        break;
    default:
        standin_breach("an attribute that is not known: %d", (int)what);
        return failed(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    if (refused()) return failed(cudaErrorLaunchFailure);
    for (int i = 0; i < PLACES; i++)
        if (things[i].handle && things[i].kind == STREAM && things[i].capturing) {
            standin_breach("the device is waited for while a stream is captured");
            return failed(cudaErrorStreamCaptureUnsupported);
        }
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = standin.driver;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* Memory
 * ----------------------------------------------------------------------------------------------------- */

static const thing_t *around(const void *pointer)
{
    uintptr_t at = (uintptr_t)pointer;
    for (int i = 0; i < PLACES; i++) {
        uintptr_t from = (uintptr_t)things[i].handle;
        if (from && things[i].kind <= PINNED && at >= from && at - from < things[i].bytes) return &things[i];
    }
    return NULL;
}

int64_t standin_offset(const void *pointer)
{
    const thing_t *x = around(pointer);
    return x ? (const char *)pointer - (const char *)x->handle : -1;
}

int standin_device(const void *pointer)
{
    const thing_t *x = around(pointer);
    return x && x->kind == MEMORY ? x->device : -1;
}

size_t standin_extent(const void *pointer)
{
    const thing_t *x = around(pointer);
    return x ? x->bytes : 0;
}

static cudaError_t allocate(kind_t kind, void **memory, size_t bytes)
{
    *memory = NULL;
    if (refused() || (standin.largest && bytes > standin.largest)) return failed(cudaErrorMemoryAllocation);
    if (unsafe("an allocation")) return failed(cudaErrorStreamCaptureUnsupported);
    /* As CUDA's, at multiples of 256; pages that nobody writes cost nothing. */
    size_t room = (bytes + 255) / 256 * 256 + 256;
    char *made = calloc(1, room + 256);
    if (!made) return failed(cudaErrorMemoryAllocation);
    char *at = made + (256 - (uintptr_t)made % 256);
    at[-1] = (char)(at - made - 1); /* how far back it began */
    thing_t *x = add(kind, at);
    x->bytes = bytes, x->device = standin.current;
    standin.mallocs++;
    *memory = at;
    return cudaSuccess;
}

static cudaError_t release(kind_t kind, void *memory)
{
    if (!memory) return cudaSuccess;
    thing_t *x = expect(kind, memory, "free");
    if (!x) return failed(cudaErrorInvalidValue);
    unsafe("memory is freed");
    char *at = memory;
    x->handle = NULL;
    free(at - (unsigned char)at[-1] - 1);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    return allocate(MEMORY, memory, bytes);
}

cudaError_t cudaFree(void *memory)
{
    return release(MEMORY, memory);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    return allocate(PINNED, memory, bytes);
}

cudaError_t cudaFreeHost(void *memory)
{
    return release(PINNED, memory);
}

static bool inside(const void *memory, size_t bytes)
{
    const thing_t *x = around(memory);
    return x && (size_t)((const char *)memory - (const char *)x->handle) + bytes <= x->bytes;
}

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    if (refused()) return failed(cudaErrorLaunchFailure);
    if (!bytes) return cudaSuccess;
    bool source = kind == cudaMemcpyHostToDevice || inside(from, bytes),
         target = kind == cudaMemcpyDeviceToHost || inside(to, bytes);
    if (!source || !target) return failed(cudaErrorInvalidValue);
    memmove(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    unsafe("a copy that waits");
    return copy(to, from, bytes, kind);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    stream_of(stream, "a copy");
    cudaError_t error = copy(to, from, bytes, kind);
    if (error == cudaErrorInvalidValue)
        standin_breach("a copy of %zu bytes that leaves its allocation", bytes);
    return error;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    (void)value; /* written, it would cost pages */
    stream_of(stream, "memset");
    if (refused()) return failed(cudaErrorLaunchFailure);
    if (bytes && !inside(to, bytes)) standin_breach("memset of %zu bytes that leaves its allocation", bytes);
    standin.memsets++;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory)
{
    const thing_t *x = around(memory);
    memset(attributes, 0, sizeof *attributes);
    if (refused()) return failed(cudaErrorLaunchFailure);
    attributes->device = x ? x->device : 0;
    attributes->type = !x                  ? cudaMemoryTypeUnregistered
                       : x->kind == PINNED ? cudaMemoryTypeHost
                                           : cudaMemoryTypeDevice;
    return cudaSuccess;
}

static CUresult pointer_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    const thing_t *x = around((const void *)(uintptr_t)address);
    if (!x || x->kind != MEMORY || attribute != CU_POINTER_ATTRIBUTE_BUFFER_ID)
        return CUDA_ERROR_INVALID_VALUE;
    *(unsigned long long *)data = (unsigned long long)(x - things) + 1;
    return CUDA_SUCCESS;
}

static CUresult context_number(CUcontext context, unsigned long long *number)
{
    (void)context;
    *number = 1 + (unsigned long long)standin.current + 16 * (unsigned long long)standin.resets;
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *result)
{
    (void)version, (void)flags;
    CUresult (*found)(void *, CUpointer_attribute, CUdeviceptr) = pointer_attribute;
    CUresult (*number)(CUcontext, unsigned long long *) = context_number;
    bool known = !strcmp(symbol, "cuPointerGetAttribute"), numbers = !strcmp(symbol, "cuCtxGetId");
    if (known) memcpy(function, &found, sizeof found);
    if (numbers) memcpy(function, &number, sizeof number);
    known |= numbers;
    *result = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

void standin_reset_device(void)
{
    for (int i = 0; i < PLACES; i++) {
        if (!things[i].handle) continue;
        char *at = things[i].handle;
        free(things[i].kind <= PINNED ? at - (unsigned char)at[-1] - 1 : at);
        things[i].handle = NULL;
    }
    vendor_held = 0;
    standin.resets++;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = !standin.apart && device != peer;
    return refused() ? failed(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)flags;
    if (refused() || standin.apart || peer == standin.current) return failed(cudaErrorInvalidDevice);
    if (peers_enabled & 1u << peer) return failed(cudaErrorPeerAccessAlreadyEnabled);
    peers_enabled |= 1u << peer;
    return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *memory)
{
    memset(handle, 0, sizeof *handle);
    if (refused() || standin.unshared || !expect(MEMORY, memory, "IPC")) return failed(cudaErrorInvalidValue);
    memcpy(handle, &memory, sizeof memory);
    return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void **memory, cudaIpcMemHandle_t handle, unsigned flags)
{
    (void)flags;
    if (refused() || standin.unshared) return failed(cudaErrorInvalidValue);
    memcpy(memory, &handle, sizeof *memory);
    standin.mapped++;
    return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void *memory)
{
    expect(MEMORY, memory, "IPC");
    if (standin.mapped-- < 1) standin_breach("memory is unmapped that was not mapped");
    return cudaSuccess;
}

/* Streams and their capture --------------------------------------------------------------------------------
 */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    *stream = NULL;
    if (refused()) return failed(cudaErrorMemoryAllocation);
    *stream = create(STREAM);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    thing_t *x = expect(STREAM, stream, "a stream");
    if (!x) return failed(cudaErrorInvalidResourceHandle);
    free(x->handle), x->handle = NULL;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    thing_t *x = stream_of(stream, "waiting");
    if (is_capturing(x)) {
        standin_breach("a stream is waited for that is captured");
        return failed(cudaErrorStreamCaptureUnsupported);
    }
    return refused() ? failed(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    *status = is_capturing(stream_of(stream, "capturing?")) ? cudaStreamCaptureStatusActive
                                                            : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    thing_t *x = stream_of(stream, "a capture");
    if (refused() || !x || x->capturing) return failed(cudaErrorStreamCaptureUnsupported);
    x->capturing = true;
    x->mode = mode;
    x->graph = create(GRAPH);
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    thing_t *x = stream_of(stream, "the end of a capture");
    *graph = NULL;
    if (!x || !x->capturing) return failed(cudaErrorStreamCaptureUnsupported);
    x->capturing = false;
    if (refused()) {
        cudaGraphDestroy(x->graph);
        return failed(cudaErrorStreamCaptureInvalidated);
    }
    *graph = x->graph;
    return cudaSuccess;
}

void standin_capture(void *stream, bool on)
{
    cudaGraph_t graph;
    int calls = standin.calls;
    if (on)
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    else if (cudaStreamEndCapture(stream, &graph) == cudaSuccess)
        cudaGraphDestroy(graph);
    standin.calls = calls;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    enum cudaStreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
                                     size_t *count)
{
    thing_t *x = stream_of(stream, "a capture");
    *status = is_capturing(x) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    *id = 1, *graph = x ? x->graph : NULL, *nodes = NULL, *edges = NULL, *count = 0;
    return refused() ? failed(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *nodes,
                                                const cudaGraphEdgeData *edges, size_t count, unsigned flags)
{
    (void)nodes, (void)edges, (void)flags;
    if (!is_capturing(stream_of(stream, "a capture")) || count != 1)
        return failed(cudaErrorStreamCaptureUnsupported);
    return refused() ? failed(cudaErrorLaunchFailure) : cudaSuccess;
}

/* Events
 * ------------------------------------------------------------------------------------------------------ */

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = NULL;
    if (refused()) return failed(cudaErrorMemoryAllocation);
    *event = create(EVENT);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    thing_t *x = expect(EVENT, event, "an event");
    if (!x) return failed(cudaErrorInvalidResourceHandle);
    free(x->handle), x->handle = NULL;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    thing_t *x = expect(EVENT, event, "an event");
    stream_of(stream, "an event");
    if (refused() || !x) return failed(cudaErrorInvalidResourceHandle);
    x->recorded = true;
    x->us = standin.clock_us += standin.tick_us;
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    expect(EVENT, event, "an event");
    unsafe("an event is asked");
    return standin.busy ? failed(cudaErrorNotReady) : cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    expect(EVENT, event, "an event");
    return refused() ? failed(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    thing_t *from = expect(EVENT, begin, "an event"), *to = expect(EVENT, end, "an event");
    if (refused() || !from || !to || !from->recorded || !to->recorded)
        return failed(cudaErrorInvalidResourceHandle);
    *ms = (float)((to->us - from->us) * 1e-3);
    return cudaSuccess;
}

/* Graphs
 * ------------------------------------------------------------------------------------------------------ */

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    *made = NULL;
    if (refused() || !expect(GRAPH, graph, "a graph")) return failed(cudaErrorMemoryAllocation);
    *made = create(EXECUTABLE);
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream)
{
    stream_of(stream, "a graph");
    expect(EXECUTABLE, graph, "a graph");
    return refused() ? failed(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    stream_of(stream, "a graph");
    expect(EXECUTABLE, graph, "a graph");
    standin.clock_us += standin.launch_us;
    return refused() ? failed(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    thing_t *x = expect(GRAPH, graph, "a graph");
    if (!x) return failed(cudaErrorInvalidValue);
    free(x->handle), x->handle = NULL;
    for (int i = 0; i < PLACES; i++)
        if (things[i].handle && things[i].kind == OBJECT && things[i].kept_by == graph) {
            free(things[i].handle), things[i].handle = NULL;
            things[i].release(things[i].owner);
        }
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    thing_t *x = expect(EXECUTABLE, graph, "a graph");
    if (!x) return failed(cudaErrorInvalidValue);
    free(x->handle), x->handle = NULL;
    return cudaSuccess;
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                             const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params)
{
    static cudaGraph_t body[2];
    (void)node, (void)after, (void)edges, (void)count;
    expect(GRAPH, graph, "a graph");
    if (refused()) return failed(cudaErrorMemoryAllocation);
    params->conditional.phGraph_out = body;
    return cudaSuccess;
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                       size_t count, cudaGraph_t child)
{
    (void)node, (void)graph, (void)after, (void)count;
    expect(GRAPH, child, "a graph");
    return refused() ? failed(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph,
                                             unsigned value, unsigned flags)
{
    (void)value, (void)flags;
    expect(GRAPH, graph, "a graph");
    *handle = 7;
    return refused() ? failed(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t *object, void *owner, cudaHostFn_t release_,
                                 unsigned references, unsigned flags)
{
    (void)references, (void)flags;
    if (refused()) return failed(cudaErrorMemoryAllocation);
    *object = create(OBJECT);
    thing_t *x = find(OBJECT, *object);
    x->release = release_, x->owner = owner;
    return cudaSuccess;
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count)
{
    (void)count;
    thing_t *x = expect(OBJECT, object, "an object");
    if (!x) return failed(cudaErrorInvalidValue);
    free(x->handle), x->handle = NULL;
    x->release(x->owner);
    return cudaSuccess;
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count,
                                      unsigned flags)
{
    (void)count, (void)flags;
    thing_t *x = expect(OBJECT, object, "an object");
    expect(GRAPH, graph, "a graph");
    if (refused() || !x) return failed(cudaErrorMemoryAllocation);
    x->kept_by = graph;
    return cudaSuccess;
}

/* Launches
 * ---------------------------------------------------------------------------------------------------- */

static standin_launch_t *now; /* that is being recorded */

void standin_begin(const char *name, void *stream)
{
    static standin_launch_t beyond;
    pthread_mutex_lock(&lock);
    bool room = standin.launches < STANDIN_LAUNCHES;
    now = room ? &standin.launch[standin.launches++] : &beyond;
    now->name = name, now->stream = stream, now->count = 0;
    const thing_t *x = stream_of(stream, name);
    now->captured = is_capturing(x);
    if (x && x->device != standin.current)
        standin_breach("%s: a launch on device %d into a stream of device %d", name, standin.current,
                       x->device);
}

static standin_arg_t *next(const char *key, standin_kind_t kind)
{
    if (now->count == STANDIN_ARGS) abort();
    standin_arg_t *arg = &now->arg[now->count++];
    *arg = (standin_arg_t){.key = key, .kind = kind};
    return arg;
}

void standin_note_integer(const char *key, int64_t x)
{
    next(key, STANDIN_INTEGER)->integer = x;
}

void standin_note_real(const char *key, double x)
{
    next(key, STANDIN_REAL)->real = x;
}

void standin_note_pointer(const char *key, const void *x)
{
    next(key, STANDIN_POINTER)->pointer = x;
}

int standin_end(void)
{
    enum { VENDOR = 41 };
    bool fails = standin.launch_fails && --standin.launch_fails == 0;
    standin_check(now);
    if (!fails) standin_compute(now);
    standin.clock_us += standin.launch_us;
    pthread_mutex_unlock(&lock);
    return fails ? failed(cudaErrorLaunchFailure), VENDOR : 0;
}

int standin_end_vendor(void)
{
    enum { NOT_INITIALIZED = 1 };
    bool fails = standin.vendor_fails && --standin.vendor_fails == 0;
    pthread_mutex_unlock(&lock);
    return fails ? NOT_INITIALIZED : 0;
}

void standin_vendor_holds(int more)
{
    vendor_held += more;
}

const standin_launch_t *standin_find(const char *name, int nth)
{
    for (int i = 0; i < standin.launches; i++)
        if (!strcmp(standin.launch[i].name, name) && nth-- == 0) return &standin.launch[i];
    fprintf(stderr, "%s was not launched; what was:", name);
    for (int i = 0; i < standin.launches; i++) fprintf(stderr, " %s", standin.launch[i].name);
    fputc('\n', stderr);
    return NULL;
}

int standin_count(const char *name)
{
    int count = 0;
    for (int i = 0; i < standin.launches; i++) count += !strcmp(standin.launch[i].name, name);
    return count;
}
