/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Ranks on devices: by NCCL, or by stores into each other's memory.
 *
 * Before ranks can store to each other they tell each other where their memory lies; that goes by NCCL or by
 * the program's callbacks, whichever made the link. What waits, waits with a deadline: the host asks an
 * event, the kernel asks the device's clock. */
#include "operators.h"
#include "base/clock.h"
#include "base/gather.h"
#include "base/status.h"
#include "cuda/runtime/capture.h"
#include "cuda/runtime/nccl.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FAILED,
    STOP,
    WORDS
}; /* of pinned memory: the rank that did not come, plus 1; the host wants an end */

struct lac_link {
    lac_exec_t *exec;
    int ranks, rank;
    double timeout_s;
    const lac_comm_callbacks_t *callbacks; /* what brings bytes; NULL: NCCL */
    void *nccl;                            /* NULL: none, or aborted */
    bool owns_nccl, peers, launched;       /* launched: a kernel may see the words */
    cudaEvent_t done;
    volatile uint32_t *words; /* pinned */
    atomic_bool stop;
    pthread_mutex_t lock; /* of nccl, against an abort */
    _Atomic lac_status_t failed;
};

struct lac_link_events {
    lac_link_t *link;
    lac_dim_t rows, all;
    lac_cuda_shard_t own;
    int64_t words, stride;   /* of all ranks; of the largest share */
    lac_cuda_shard_t *shard; /* all on the device from here on     */
    uint8_t *out;
    uint32_t *packed, *gathered; /* NCCL  */
    uint64_t *place, **table;    /* peers */
    uint32_t *state;
    void **there; /* [ranks] on the host: where each rank's places are mapped here */
};

/* What failed first stays the answer. */
static lac_status_t note(lac_link_t *link, lac_status_t status)
{
    lac_status_t none = LAC_OK;
    if (status) atomic_compare_exchange_strong(&link->failed, &none, status);
    return status;
}

static lac_status_t nccl_error(int error, const char *what)
{
    if (error == NCCL_SUCCESS) return LAC_OK;
    return lac_fail(LAC_ERR_VENDOR, "%s: NCCL: %s", what, lac_nccl()->text(error));
}

/* NCCL's state, where there is one; it may be working on a call in another thread. */
static int nccl_state(lac_link_t *link)
{
    int state = NCCL_SUCCESS;
    pthread_mutex_lock(&link->lock);
    if (link->nccl && lac_nccl()->async_error(link->nccl, &state)) state = NCCL_SUCCESS;
    pthread_mutex_unlock(&link->lock);
    return state;
}

static void drop_nccl(lac_link_t *link)
{
    pthread_mutex_lock(&link->lock);
    if (link->nccl && link->owns_nccl) lac_nccl()->abort(link->nccl);
    link->nccl = NULL;
    pthread_mutex_unlock(&link->lock);
}

static lac_status_t fail_link(lac_link_t *link, lac_status_t status, const char *message)
{
    note(link, status);
    link->words[STOP] = 1;
    drop_nccl(link);
    return lac_fail(status, "%s", message);
}

/* What is known without waiting. */
static lac_status_t status_of(lac_link_t *link)
{
    lac_status_t failed = atomic_load(&link->failed);
    if (failed == LAC_ERR_ABORTED) return lac_fail(failed, "communicator: was aborted");
    if (failed) return lac_fail(failed, "communicator: an earlier call failed; make another");
    if (link->words[FAILED]) {
        note(link, LAC_ERR_TIMEOUT);
        return lac_fail(LAC_ERR_TIMEOUT, "communicator: rank %u did not come within %g s",
                        link->words[FAILED] - 1, link->timeout_s);
    }
    int state = nccl_state(link);
    return state == NCCL_IN_PROGRESS ? LAC_OK : note(link, nccl_error(state, "communicator"));
}

static lac_status_t time_out(lac_link_t *link)
{
    char message[96];
    snprintf(message, sizeof message, "communicator: another rank did not come within %g s", link->timeout_s);
    return fail_link(link, LAC_ERR_TIMEOUT, message);
}

/* Waits until NCCL has taken a call: one that does not block returns before it has. */
static lac_status_t settle(lac_link_t *link, int result, const char *what)
{
    double end_us = lac_now_us() + 1e6 * link->timeout_s;
    for (unsigned looks = 0; result == NCCL_IN_PROGRESS; looks++) {
        if (lac_now_us() > end_us) return time_out(link);
        if (atomic_load(&link->stop)) return status_of(link);
        if (looks > 16) lac_gather_pause(looks);
        result = nccl_state(link);
    }
    return note(link, nccl_error(result, what));
}

/* Until what is queued on the stream is done. */
static lac_status_t wait(lac_link_t *link)
{
    lac_status_t status = lac_cuda_may_allocate(link->exec, "waiting for other ranks");
    if (!status) status = status_of(link);
    if (!status)
        status = lac_cuda_check_error(cudaEventRecord(link->done, link->exec->stream), "communicator");
    double end_us = lac_now_us() + 1e6 * link->timeout_s;
    for (unsigned looks = 0; !status; looks++) {
        cudaError_t error = cudaEventQuery(link->done);
        if (error == cudaSuccess) return status_of(link);
        cudaGetLastError();
        if (error != cudaErrorNotReady) return note(link, lac_cuda_check_error(error, "communicator"));
        status = status_of(link);
        if (!status && lac_now_us() > end_us) status = time_out(link);
        if (!status) lac_gather_pause(looks);
    }
    return status;
}

/* By NCCL, on copies on the device. */
static lac_status_t gather_nccl(lac_link_t *link, const void *mine, void *all, size_t bytes)
{
    char *memory = NULL;
    size_t whole = bytes * (size_t)link->ranks;
    cudaStream_t stream = link->exec->stream;
    lac_status_t status = lac_cuda_check_error(cudaMalloc((void **)&memory, whole + bytes), "communicator");
    if (status) return status;
    status = lac_cuda_check_error(
        cudaMemcpyAsync(memory + whole, mine, bytes, cudaMemcpyHostToDevice, stream), "communicator");
    if (!status)
        status = settle(link,
                        lac_nccl()->all_gather(memory + whole, memory, bytes, NCCL_UINT8, link->nccl, stream),
                        "gather");
    if (!status) status = wait(link);
    if (!status)
        status = lac_cuda_check_error(cudaMemcpyAsync(all, memory, whole, cudaMemcpyDeviceToHost, stream),
                                      "communicator");
    if (!status) status = wait(link);
    if (!link->failed) cudaFree(memory); /* which would wait for a rank that does not come */
    return status;
}

static lac_status_t gather(lac_link_t *link, const void *mine, void *all, size_t bytes)
{
    lac_status_t status = lac_cuda_may_allocate(link->exec, "a gather of the ranks");
    if (!status) status = status_of(link);
    if (status) return status;
    if (!link->callbacks) return gather_nccl(link, mine, all, bytes);
    return note(link, lac_gather(link->callbacks, mine, all, bytes, link->timeout_s, &link->stop));
}

/* Each other's memory ------------------------------------------------------------------------------------ */

/* Where a rank's memory lies. */
typedef struct card {
    uint64_t host, process; /* equal where they are the same */
    int device, shares;     /* shares: other processes may map it */
    void *memory;
    cudaIpcMemHandle_t handle;
} card_t;

static uint64_t mix(uint64_t hash, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* The number that Linux draws when it starts: containers of one host share it. 0: not known. */
static uint64_t host_number(void)
{
    char text[64];
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text);
    if (file >= 0) close(file);
    return length > 0 ? mix(UINT64_C(0xcbf29ce484222325), text, (size_t)length) : 0;
}

static pthread_once_t numbered = PTHREAD_ONCE_INIT;
static uint64_t process;

/* Numbers of processes repeat from container to container; clocks and addresses beside them do not. */
static void number_process(void)
{
    pid_t pid = getpid();
    double now = lac_now_us();
    void *here = &process;
    process = mix(mix(mix(host_number(), &pid, sizeof pid), &now, sizeof now), &here, sizeof here);
}

static card_t card_of(const lac_link_t *link, void *memory)
{
    card_t card;
    memset(&card, 0, sizeof card);
    pthread_once(&numbered, number_process);
    card.host = host_number(), card.process = process;
    card.device = link->exec->device, card.memory = memory;
    card.shares = cudaIpcGetMemHandle(&card.handle, memory) == cudaSuccess;
    cudaGetLastError();
    return card;
}

static bool reach(const lac_link_t *link, const card_t *mine, const card_t *card, void **there)
{
    int can = 0;
    if (!mine->host || card->host != mine->host) return false;
    if (card->process != mine->process) {
        bool opened = card->shares && cudaIpcOpenMemHandle(there, card->handle,
                                                           cudaIpcMemLazyEnablePeerAccess) == cudaSuccess;
        cudaGetLastError();
        return opened;
    }
    *there = card->memory;
    if (card->device == link->exec->device) return true;
    if (cudaDeviceCanAccessPeer(&can, link->exec->device, card->device) != cudaSuccess || !can) return false;
    cudaError_t error = cudaDeviceEnablePeerAccess(card->device, 0);
    cudaGetLastError();
    return error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
}

/* Maps every rank's `memory`; *all is true where every rank could. cards[ranks + 1] is scratch. */
static lac_status_t map(lac_link_t *link, void *memory, card_t *cards, void **there, bool *all)
{
    unsigned char *can = calloc((size_t)link->ranks + 1, 1);
    if (!can) return lac_fail(LAC_ERR_MEMORY, "communicator: out of memory");
    cards[link->ranks] = card_of(link, memory);
    lac_status_t status = gather(link, &cards[link->ranks], cards, sizeof *cards);
    bool mine = true;
    for (int r = 0; !status && r < link->ranks; r++) {
        there[r] = r == link->rank ? memory : NULL;
        mine = mine && (r == link->rank || reach(link, &cards[link->ranks], &cards[r], &there[r]));
    }
    can[link->ranks] = mine;
    if (!status) status = gather(link, &can[link->ranks], can, 1);
    *all = !status;
    for (int r = 0; r < link->ranks; r++) *all = *all && can[r];
    (status ? lac_gather_abandon : free)(can);
    return status;
}

/* What another process shares; this one's own is nobody else's to close. */
static void unmap(const lac_link_t *link, const card_t *cards, void *const *there)
{
    for (int r = 0; r < link->ranks; r++)
        if (r != link->rank && there[r] && cards[r].process != process) cudaIpcCloseMemHandle(there[r]);
    cudaGetLastError();
}

/* Whether every rank can map every other's memory: tried on a piece that nobody uses. */
static lac_status_t try_peers(lac_link_t *link)
{
    void *memory = NULL;
    size_t ranks = (size_t)link->ranks;
    card_t *cards = calloc(ranks + 1, sizeof *cards);
    void **there = calloc(ranks, sizeof *there);
    if (!cards || !there) {
        free(cards);
        free(there);
        return lac_fail(LAC_ERR_MEMORY, "communicator: out of memory");
    }
    lac_status_t status = lac_cuda_check_error(cudaMalloc(&memory, 256), "communicator");
    if (!status) status = map(link, memory, cards, there, &link->peers);
    if (!status) unmap(link, cards, there);
    if (!status) status = gather(link, &ranks, cards, 1); /* nobody has it mapped any more */
    if (!status) cudaFree(memory);
    free(there);
    (status ? lac_gather_abandon : free)(cards);
    return status;
}

/* Links -------------------------------------------------------------------------------------------------- */

static lac_status_t make_id(lac_comm_id_t *id)
{
    const lac_nccl_t *nccl = lac_nccl();
    if (!nccl->found) return lac_fail(LAC_ERR_UNAVAILABLE, "id: %s", nccl->missing);
    return nccl_error(nccl->unique_id(id), "id");
}

static lac_status_t init_nccl(lac_link_t *link, const lac_comm_id_t *id)
{
    lac_nccl_config_t config = LAC_NCCL_CONFIG;
    link->owns_nccl = true;
    return settle(link, lac_nccl()->init(&link->nccl, link->ranks, *id, link->rank, &config), "communicator");
}

/* The first rank's identity, brought by the callbacks; where one rank has no NCCL, none uses it. */
static lac_status_t init_by_callbacks(lac_link_t *link)
{
    typedef struct offer {
        int found;
        lac_comm_id_t id;
    } offer_t;
    offer_t *all = calloc((size_t)link->ranks + 1, sizeof *all);
    if (!all) return lac_fail(LAC_ERR_MEMORY, "communicator: out of memory");
    offer_t *mine = all + link->ranks;
    mine->found = lac_nccl()->found && (link->rank != 0 || lac_nccl()->unique_id(&mine->id) == NCCL_SUCCESS);
    lac_status_t status = gather(link, mine, all, sizeof *all);
    if (status) {
        lac_gather_abandon(all);
        return status;
    }
    bool found = true;
    for (int r = 0; r < link->ranks; r++) found = found && all[r].found;
    if (found) status = init_nccl(link, &all[0].id);
    free(all);
    return status;
}

static lac_status_t wrap_nccl(lac_link_t *link, lac_link_request_t *request)
{
    const lac_nccl_t *nccl = lac_nccl();
    int device = -1;
    link->nccl = request->nccl;
    lac_status_t status = nccl_error(nccl->count(link->nccl, &request->ranks), "nccl_comm");
    if (!status) status = nccl_error(nccl->rank(link->nccl, &request->rank), "nccl_comm");
    if (!status) status = nccl_error(nccl->device(link->nccl, &device), "nccl_comm");
    if (!status && device != link->exec->device)
        status = lac_fail(LAC_ERR_SPACE, "nccl_comm: is of device %d, and the context computes on device %d",
                          device, link->exec->device);
    link->ranks = request->ranks, link->rank = request->rank;
    return status;
}

static lac_status_t choose_engine(lac_link_t *link, const char *engine)
{
    lac_status_t status = LAC_OK;
    if (strcmp(engine, "nccl")) status = try_peers(link);
    if (status || link->peers) return status;
    if (!strcmp(engine, "peer"))
        return lac_fail(LAC_ERR_UNAVAILABLE,
                        "opts.engine: not every rank can reach every other rank's memory");
    if (link->callbacks && !link->nccl) status = init_by_callbacks(link);
    if (status || link->nccl) return status;
    return lac_fail(LAC_ERR_UNAVAILABLE, "communicator: a rank has no NCCL%s%s",
                    lac_nccl()->found ? "" : ": ", lac_nccl()->missing);
}

/* Ends NCCL's communicator in peace, or by force where a rank has failed or does not come. */
static void end_nccl(lac_link_t *link)
{
    if (link->nccl && link->owns_nccl && !link->failed &&
        !settle(link, lac_nccl()->finalize(link->nccl), "communicator")) {
        lac_nccl()->destroy(link->nccl);
        link->nccl = NULL;
    }
    drop_nccl(link);
}

static void close_link(lac_link_t *link)
{
    if (!link) return;
    end_nccl(link);
    if (link->done) cudaEventDestroy(link->done);
    if (link->words && !(link->failed && link->launched)) cudaFreeHost((void *)(uintptr_t)link->words);
    cudaGetLastError();
    pthread_mutex_destroy(&link->lock);
    free(link);
}

static lac_status_t prepare(lac_link_t *link)
{
    lac_status_t status = lac_cuda_may_allocate(link->exec, "communicator");
    void *words = NULL;
    if (!status)
        status = lac_cuda_check_error(
            cudaHostAlloc(&words, WORDS * sizeof *link->words, cudaHostAllocDefault), "communicator");
    if (!status) memset(words, 0, WORDS * sizeof *link->words);
    link->words = words;
    if (!status) status = lac_cuda_check_error(cudaEventCreate(&link->done), "communicator");
    return status;
}

static lac_status_t connect(lac_link_t *link, lac_link_request_t *request)
{
    if (!request->callbacks && !lac_nccl()->found)
        return lac_fail(LAC_ERR_UNAVAILABLE, "communicator: %s", lac_nccl()->missing);
    lac_status_t status = request->nccl ? wrap_nccl(link, request)
                          : request->id ? init_nccl(link, request->id)
                                        : LAC_OK;
    return status ? status : choose_engine(link, request->engine);
}

static lac_status_t open_link(lac_exec_t *exec, lac_link_request_t *request, lac_link_t **link)
{
    lac_link_t *made = *link = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "communicator: out of memory");
    made->exec = exec, made->ranks = request->ranks, made->rank = request->rank;
    made->timeout_s = request->timeout_s, made->callbacks = request->callbacks;
    pthread_mutex_init(&made->lock, NULL);
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    lac_status_t status = prepare(made);
    if (!status) status = connect(made, request);
    if (status) {
        note(made, status);
        close_link(made);
        *link = NULL;
    }
    lac_cuda_capture_relaxed_end(mode);
    return status;
}

static const char *engine(const lac_link_t *link)
{
    return link->peers ? "peer" : "nccl";
}

static lac_status_t abort_link(lac_link_t *link)
{
    note(link, LAC_ERR_ABORTED);
    atomic_store(&link->stop, true);
    link->words[STOP] = 1;
    drop_nccl(link);
    return LAC_OK;
}

/* Events --------------------------------------------------------------------------------------------------
 */

static lac_status_t new_array(size_t count, size_t width, void **memory)
{
    size_t bytes = count * width;
    return lac_cuda_check_error(cudaMalloc(memory, bytes ? bytes : 1), "events");
}

static lac_status_t upload(lac_link_t *link, void *to, const void *from, size_t bytes)
{
    lac_status_t status = lac_cuda_check_error(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, link->exec->stream), "events");
    return status ? status : wait(link);
}

static lac_status_t make_peers(lac_link_events_t *e)
{
    lac_link_t *link = e->link;
    size_t ranks = (size_t)link->ranks, places = 2 * (size_t)e->words;
    bool all = false;
    card_t *cards = calloc(ranks + 1, sizeof *cards);
    e->there = calloc(ranks, sizeof *e->there);
    if (!cards || !e->there) {
        free(cards);
        return lac_fail(LAC_ERR_MEMORY, "events: out of memory");
    }
    lac_status_t status = new_array(places, sizeof *e->place, (void **)&e->place);
    if (!status) status = new_array(ranks, sizeof *e->table, (void **)&e->table);
    if (!status) status = new_array(LAC_CUDA_EXCHANGE_STATE, sizeof *e->state, (void **)&e->state);
    if (!status)
        status = lac_cuda_check_error(
            cudaMemsetAsync(e->place, 0, places * sizeof *e->place, link->exec->stream), "events");
    if (!status)
        status = lac_cuda_check_error(
            cudaMemsetAsync(e->state, 0, LAC_CUDA_EXCHANGE_STATE * sizeof *e->state, link->exec->stream),
            "events");
    if (!status) status = wait(link); /* before another rank may write there */
    if (!status) status = map(link, e->place, cards, e->there, &all);
    if (!status && !all)
        status = note(link,
                      lac_fail(LAC_ERR_VENDOR, "events: not every rank could map every other rank's memory"));
    if (!status) status = upload(link, e->table, e->there, ranks * sizeof *e->table);
    for (int r = 0; r < link->ranks; r++) /* kept: those that are to be closed */
        if (r == link->rank || cards[r].process == process) e->there[r] = NULL;
    (link->failed ? lac_gather_abandon : free)(cards);
    return status;
}

static void close_events(lac_link_events_t *e)
{
    if (!e) return;
    lac_link_t *link = e->link;
    unsigned char mine = 0, *all = calloc((size_t)link->ranks, 1);
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    lac_status_t status = all ? wait(link) : LAC_ERR_MEMORY;
    for (int r = 0; !status && e->there && r < link->ranks; r++)
        if (e->there[r]) cudaIpcCloseMemHandle(e->there[r]);
    if (!status) status = gather(link, &mine, all, 1); /* nobody writes here any more */
    if (!status) {
        cudaFree(e->place);
        cudaFree(e->table);
        cudaFree(e->state);
        cudaFree(e->packed);
        cudaFree(e->gathered);
        cudaFree(e->shard);
        cudaFree(e->out);
    } /* else another rank, or a kernel that waits for one, may still use it: it stays until the process ends
       */
    cudaGetLastError();
    lac_cuda_capture_relaxed_end(mode);
    (status ? lac_gather_abandon : free)(all);
    free(e->there);
    free(e);
}

static lac_status_t fill_events(lac_link_events_t *e, const lac_dim_t *columns)
{
    lac_link_t *link = e->link;
    size_t ranks = (size_t)link->ranks;
    lac_cuda_shard_t *shard = calloc(ranks, sizeof *shard);
    if (!shard) return lac_fail(LAC_ERR_MEMORY, "events: out of memory");
    for (int r = 0; r < link->ranks; r++) {
        int64_t words = lac_cuda_shard_words(e->rows, columns[r]);
        shard[r] = (lac_cuda_shard_t){e->all, columns[r], e->words};
        e->all += columns[r], e->words += words;
        if (words > e->stride) e->stride = words;
    }
    e->own = shard[link->rank];
    lac_status_t status = new_array(ranks, sizeof *shard, (void **)&e->shard);
    if (!status) status = new_array((size_t)e->rows * (size_t)e->all, 1, (void **)&e->out);
    if (!status)
        status = lac_cuda_check_error(
            cudaMemsetAsync(e->out, 0, (size_t)e->rows * (size_t)e->all, link->exec->stream), "events");
    if (!status) status = upload(link, e->shard, shard, ranks * sizeof *shard);
    free(shard);
    if (!status && link->peers) return make_peers(e);
    if (!status) status = new_array((size_t)e->stride, sizeof *e->packed, (void **)&e->packed);
    if (!status) status = new_array(ranks * (size_t)e->stride, sizeof *e->gathered, (void **)&e->gathered);
    return status;
}

static lac_status_t open_events(lac_link_t *link, lac_dim_t rows, const lac_dim_t *columns,
                                lac_link_events_t **events, uint8_t **out)
{
    lac_link_events_t *made = *events = calloc(1, sizeof *made);
    if (!made) return lac_fail(LAC_ERR_MEMORY, "events: out of memory");
    made->link = link, made->rows = rows;
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    lac_status_t status = lac_cuda_may_allocate(link->exec, "events");
    if (!status) status = fill_events(made, columns);
    lac_cuda_capture_relaxed_end(mode);
    *out = made->out;
    if (!status) return LAC_OK;
    note(link, status); /* the others are ahead or behind now */
    close_events(made);
    *events = NULL;
    return status;
}

static lac_status_t exchange_peers(const lac_link_events_t *e, const lac_cuda_matrix_t *mine)
{
    lac_link_t *link = e->link;
    link->launched = true;
    lac_cuda_exchange_t x = {.ranks = link->ranks,
                             .rank = link->rank,
                             .shard = e->shard,
                             .place = (uint64_t *const *)e->table,
                             .words = e->words,
                             .mine = *mine,
                             .out = e->out,
                             .ld = e->all,
                             .state = e->state,
                             .failed = (uint32_t *)(uintptr_t)&link->words[FAILED],
                             .stop = (const uint32_t *)(uintptr_t)&link->words[STOP],
                             .limit = (unsigned long long)(1e9 * link->timeout_s)};
    return lac_cuda_launched(lac_cuda_events_exchange(&x, link->exec->stream), "exchange");
}

static lac_status_t exchange_nccl(const lac_link_events_t *e, const lac_cuda_matrix_t *mine)
{
    lac_link_t *link = e->link;
    cudaStream_t stream = link->exec->stream;
    size_t bytes = (size_t)e->stride * sizeof *e->packed;
    lac_cuda_unpack_t u = {link->ranks, e->shard, e->rows, e->stride, e->all, e->gathered, e->out, e->stride};
    if (!bytes) return LAC_OK;
    lac_status_t status = lac_cuda_launched(lac_cuda_events_pack(mine, e->packed, stream), "exchange");
    if (!status)
        status = settle(link,
                        lac_nccl()->all_gather(e->packed, e->gathered, bytes, NCCL_UINT8, link->nccl, stream),
                        "exchange");
    if (!status) status = lac_cuda_launched(lac_cuda_events_unpack(&u, stream), "exchange");
    return status;
}

static lac_status_t exchange(lac_link_events_t *e, const lac_operand_t *mine)
{
    lac_cuda_matrix_t x = {mine->dt, mine->buf, e->rows, e->own.count, mine->rs, mine->cs};
    lac_status_t status = status_of(e->link);
    if (status) return status;
    return e->link->peers ? exchange_peers(e, &x) : exchange_nccl(e, &x);
}

const lac_link_hooks_t lac_cuda_link = {.make_id = make_id,
                                        .open = open_link,
                                        .close = close_link,
                                        .engine = engine,
                                        .gather = gather,
                                        .wait = wait,
                                        .status = status_of,
                                        .abort = abort_link,
                                        .events_open = open_events,
                                        .exchange = exchange,
                                        .events_close = close_events};
