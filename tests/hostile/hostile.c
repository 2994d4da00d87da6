/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Uses the library as somebody would who wants it to fail: rounds drawn from a seed, each in a process of its
 * own, in which many threads multiply and the process forks meanwhile. Every result is compared with a
 * product in double; inputs cannot be written, and beside the outputs nothing may be. */
#include "guarded.h"
#include "ref_gemm.h"
#include "ref_random.h"
#include "route/machine.h"

#include "lacuna/lacuna.h"

#include <argp.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64, SHAPES_MAX = 400, ROUND_SECONDS_MAX = 240, TEXT = 512 };
enum { EXIT_OK = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_UNAVAILABLE = 3 };

typedef enum corruption { CORRUPT_NOTHING, CORRUPT_ELEMENT, CORRUPT_OUTSIDE, CORRUPT_CRASH } corruption_t;

typedef struct options {
    uint64_t seed;
    long round;     /* this one alone; negative: from the first on */
    double seconds; /* no further round begins after so many         */
    int threads;
    bool no_forks;
    corruption_t corrupt;
} options_t;

/* What a round does, all drawn from the seed and its number. */
typedef enum scenario { ROTATION, ALTERNATION, ONE_SITE, SCENARIOS } scenario_t;

static const char *const scenario_name[SCENARIOS] = {"many shapes in rotation", "alternating contents",
                                                     "one site, contents of one kind"};

typedef struct round {
    const options_t *options;
    long number;
    scenario_t scenario;
    contents_t left, right; /* of one site */
    bool wrong_constants, forks;
    char text[TEXT];
} round_t;

/* What the processes of all rounds count. */
static struct shared {
    _Atomic long products, forks;
    _Atomic int failed; /* of this round: the first to fail writes why */
    char why[2 * TEXT];
} * shared;

#ifdef HOSTILE_STATIC
static const bool fully_static = true; /* it can load no BLAS */
#else
static const bool fully_static = false;
#endif

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void fail(const char *format, ...)
{
    va_list args;
    if (atomic_exchange(&shared->failed, 1)) return;
    va_start(args, format);
    vsnprintf(shared->why, sizeof shared->why, format, args);
    va_end(args);
}

/* Products ----------------------------------------------------------------------------------------------- */

typedef struct product {
    lac_dim_t m, n, k;
    bool trans_a, trans_b, trans_c;
    float alpha, beta;
    guarded_t a, b, c;
} product_t;

static void free_product(product_t *p)
{
    guarded_free(&p->a);
    guarded_free(&p->b);
    guarded_free(&p->c);
}

static bool make_product(product_t *p, lac_dim_t m, lac_dim_t n, lac_dim_t k, draw_t *draw)
{
    *p = (product_t){.m = m, .n = n, .k = k};
    p->trans_a = draw_once(draw, 2), p->trans_b = draw_once(draw, 2), p->trans_c = draw_once(draw, 4);
    p->alpha = draw_once(draw, 3) ? -0.75f : 1.0f;
    p->beta = draw_once(draw, 3) ? 0.5f : 0.0f;
    return guarded_make(&p->a, m, k, draw) && guarded_make(&p->b, k, n, draw) &&
           guarded_make(&p->c, m, n, draw);
}

/* A name from the library's own list, or NULL: whichever it chooses. */
static const char *draw_route(lac_ctx_t *ctx, const product_t *p, draw_t *draw)
{
    lac_decision_t decision;
    const lac_obj_t a = guarded_obj(&p->a, p->trans_a), b = guarded_obj(&p->b, p->trans_b),
                    c = guarded_obj(&p->c, p->trans_c);
    if (!draw_once(draw, 3)) return NULL;
    if (lac_explain(ctx, &p->alpha, &a, &b, &p->beta, &c, NULL, &decision) || decision.count < 1) return NULL;
    const char *name = decision.candidate[draw_below(draw, (uint64_t)decision.count)].route;
    return strcmp(name, "trivial") ? name : NULL;
}

static lac_status_t run_plan(lac_ctx_t *ctx, const char *route, const product_t *p, const lac_obj_t *a,
                             const lac_obj_t *b, const lac_obj_t *c)
{
    lac_plan_t *plan;
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    lac_status_t status = lac_plan_create(ctx, &plan, a, b, c, &call);
    if (status == LAC_OK) status = lac_plan_run(plan, &p->alpha, a, b, &p->beta, c);
    lac_plan_free(plan);
    return status;
}

/* With metadata that holds for this call alone. */
static lac_status_t run_frozen(lac_ctx_t *ctx, const product_t *p, const lac_obj_t *a, const lac_obj_t *b,
                               const lac_obj_t *c, draw_t *draw)
{
    static const unsigned formats[] = {LAC_META_DENSITY, LAC_META_CSR, LAC_META_CSC, LAC_META_BITMASK,
                                       LAC_META_ACTIVE};
    lac_obj_t x = draw_once(draw, 2) ? *a : *b;
    const bool left = x.buf == a->buf;
    lac_status_t status = lac_meta_create(&x.meta, x.m, x.n);
    if (status == LAC_OK) status = lac_meta_freeze(x.meta);
    if (status == LAC_OK)
        status = lac_meta_scan(ctx, &x, formats[draw_below(draw, sizeof formats / sizeof *formats)]);
    for (int i = 0; status == LAC_OK && i < 2; i++) /* the second finds what the first made */
        status = lac_gemm(ctx, &p->alpha, left ? &x : a, left ? b : &x, i ? NULL : &p->beta, c);
    lac_meta_free(x.meta);
    return status;
}

typedef struct call {
    const char *name;
    lac_status_t status;
    bool beta; /* what C held counts */
} call_t;

static call_t make_call(lac_ctx_t *ctx, const product_t *p, const char *route, draw_t *draw)
{
    const lac_obj_t a = guarded_obj(&p->a, p->trans_a), b = guarded_obj(&p->b, p->trans_b),
                    c = guarded_obj(&p->c, p->trans_c);
    lac_call_opts_t call = {.size = sizeof call, .route = route};
    switch (draw_below(draw, 5)) {
    case 0:
        return (call_t){"lac_plan_run", run_plan(ctx, route, p, &a, &b, &c), true};
    case 1:
        return (call_t){"lac_gemm, frozen", run_frozen(ctx, p, &a, &b, &c, draw), false};
    case 2:
        if (p->trans_c) break;
        return (call_t){"lac_sgemm",
                        lac_sgemm(ctx, a.trans, b.trans, p->m, p->n, p->k, p->alpha, a.buf, a.rs, a.cs, b.buf,
                                  b.rs, b.cs, p->beta, c.buf, c.rs, c.cs),
                        true};
    default:
        break;
    }
    return (call_t){"lac_gemm_ex", lac_gemm_ex(ctx, &p->alpha, &a, &b, &p->beta, &c, &call), true};
}

static void corrupt(const product_t *p, corruption_t how)
{
    float *c = p->c.view.data;
    if (how == CORRUPT_ELEMENT) c[(p->m / 2) * p->c.view.rs + (p->n / 2) * p->c.view.cs] += 64.0f;
    if (how == CORRUPT_CRASH) *(volatile float *)p->a.view.data = 1.0f;
    for (size_t e = 0; how == CORRUPT_OUTSIDE && e < p->c.bytes; e += sizeof(float)) {
        unsigned char *at = p->c.map + (size_t)sysconf(_SC_PAGESIZE) + e;
        const uint32_t bits = REF_POISON_F32_BITS;
        if (memcmp(at, &bits, sizeof bits)) continue;
        memset(at, 0, sizeof bits); /* the first that is no element */
        return;
    }
}

/* One product with these contents, compared. */
static void multiply(lac_ctx_t *ctx, const round_t *round, product_t *p, draw_t *draw, const char *what)
{
    ref_matrix_t before = {0};
    ref_result_t want = {0};
    ref_report_t report;
    char text[TEXT];
    guarded_fill(&p->c, CONTENTS_FULL, 1.0, 0, draw);
    guarded_lock(&p->a);
    guarded_lock(&p->b);
    const char *route = draw_route(ctx, p, draw);
    bool made = ref_matrix_alloc(&before, LAC_F32, p->m, p->n, &(ref_layout_t){.step = 1}, 0);
    for (int64_t i = 0; made && i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++)
            ((float *)before.data)[i * before.rs + j * before.cs] = (float)ref_matrix_at(&p->c.view, i, j);
    const call_t call = make_call(ctx, p, route, draw);
    corrupt(p, round->options->corrupt);
    made = made &&
           ref_gemm(&p->a.view, &p->b.view, &before, p->alpha, call.beta ? p->beta : 0.0f, REF_STRICT, &want);
    const bool right =
        made && call.status == LAC_OK && ref_compare(&p->c.view, &want, ref_bound(p->k), &report);
    snprintf(text, sizeof text, "%s, route %s, %lld x %lld x %lld, %s", call.name, route ? route : "auto",
             (long long)p->m, (long long)p->k, (long long)p->n, what);
    if (!made)
        fail("%s: the test is out of memory", text);
    else if (call.status != LAC_OK)
        fail("%s: status %d: %s", text, (int)call.status, lac_last_error());
    else if (!right)
        fail("%s: %s at (%lld, %lld): %.9g, in double %.17g", text, report.reason, (long long)report.row,
             (long long)report.col, (double)report.got, report.want);
    else if (!guarded_intact(&p->c))
        fail("%s: wrote outside C", text);
    guarded_unlock(&p->a);
    guarded_unlock(&p->b);
    ref_result_free(&want);
    ref_matrix_free(&before);
    atomic_fetch_add(&shared->products, 1);
}

/* Rounds ------------------------------------------------------------------------------------------------- */

typedef struct worker {
    const round_t *round;
    pthread_t thread;
    int number;
} worker_t;

static draw_t draw_of(const round_t *round, int worker)
{
    const uint64_t stream = ref_stream(round->options->seed, (uint64_t)round->number);
    return (draw_t){ref_stream(stream, (uint64_t)worker + 1), 0};
}

static lac_dim_t extent(draw_t *draw, uint64_t most)
{
    static const lac_dim_t edges[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65};
    if (draw_once(draw, 2)) return edges[draw_below(draw, sizeof edges / sizeof *edges)];
    return 1 + (lac_dim_t)draw_below(draw, most);
}

static contents_t any_contents(draw_t *draw)
{
    return (contents_t)draw_below(draw, CONTENTS_SAMPLED);
}

static double any_density(draw_t *draw)
{
    static const double densities[] = {0.001, 0.01, 0.1, 0.5, 0.97};
    return densities[draw_below(draw, sizeof densities / sizeof *densities)];
}

/* More sites than a context learns of at once, again and again, so that each meets one that was forgotten. */
static void rotate(lac_ctx_t *ctx, const round_t *round, draw_t *draw)
{
    const int shapes = 100 + (int)draw_below(draw, SHAPES_MAX - 100);
    lac_dim_t m[SHAPES_MAX], n[SHAPES_MAX], k[SHAPES_MAX];
    for (int i = 0; i < shapes; i++)
        m[i] = extent(draw, 24), n[i] = extent(draw, 24), k[i] = extent(draw, 24);
    for (int i = 0; i < 2 * shapes && !shared->failed; i++) {
        product_t p;
        const int s = i % shapes;
        if (!make_product(&p, m[s], n[s], k[s], draw)) fail("the test is out of memory");
        if (!shared->failed) {
            guarded_fill(&p.a, any_contents(draw), any_density(draw), 0, draw);
            guarded_fill(&p.b, any_contents(draw), any_density(draw), 0, draw);
            multiply(ctx, round, &p, draw, scenario_name[ROTATION]);
        }
        free_product(&p);
    }
}

/* One shape and one place in memory, as a site of a program has it. */
static void repeat(lac_ctx_t *ctx, const round_t *round, draw_t *draw)
{
    enum { CALLS = 24 };
    product_t p;
    char what[TEXT];
    const bool sampled = round->left >= CONTENTS_SAMPLED && round->scenario == ONE_SITE;
    const lac_dim_t m = sampled ? 64 + (lac_dim_t)draw_below(draw, 64) : extent(draw, 96),
                    n = extent(draw, 48), k = sampled ? 1500 : 1 + (lac_dim_t)draw_below(draw, 900);
    const bool made = make_product(&p, m, n, k, draw);
    if (!made) fail("the test is out of memory");
    for (int i = 0; made && i < (sampled ? CALLS / 4 : CALLS) && !shared->failed; i++) {
        const bool alternates = round->scenario == ALTERNATION;
        const contents_t left = alternates ? (i % 2 ? CONTENTS_FULL : any_contents(draw)) : round->left,
                         right = alternates ? any_contents(draw) : round->right;
        guarded_fill(&p.a, left, any_density(draw), (uint64_t)i + 1, draw);
        guarded_fill(&p.b, right, any_density(draw), (uint64_t)i + 1, draw);
        snprintf(what, sizeof what, "call %d, A %s, B %s", i, contents_name[left], contents_name[right]);
        multiply(ctx, round, &p, draw, what);
    }
    free_product(&p);
}

static lac_ctx_t *draw_context(draw_t *draw)
{
    static const char *const threads[] = {"1", "2", "3", "5"};
    static const char *const backends[] = {"auto", "auto", "auto", "event", "csr"};
    lac_ctx_t *ctx;
    if (lac_ctx_create(&ctx) != LAC_OK ||
        lac_ctx_set(ctx, "threads", threads[draw_below(draw, sizeof threads / sizeof *threads)]) != LAC_OK ||
        lac_ctx_set(ctx, "backend", backends[draw_below(draw, sizeof backends / sizeof *backends)]) !=
            LAC_OK) {
        fail("no context: %s", lac_last_error());
        lac_ctx_free(ctx);
        return NULL;
    }
    return ctx;
}

static void *work(void *arg)
{
    const worker_t *worker = arg;
    draw_t draw = draw_of(worker->round, worker->number);
    lac_ctx_t *ctx = draw_context(&draw);
    if (ctx && worker->round->scenario == ROTATION)
        rotate(ctx, worker->round, &draw);
    else if (ctx)
        repeat(ctx, worker->round, &draw);
    lac_ctx_free(ctx);
    return NULL;
}

/* In a child of a process in the middle of other threads' calls. */
static _Noreturn void be_a_child(const round_t *round, int number)
{
    draw_t draw = draw_of(round, 1000 + number);
    lac_ctx_t *ctx = draw_context(&draw);
    product_t p;
    if (ctx && make_product(&p, extent(&draw, 64), extent(&draw, 64), extent(&draw, 200), &draw)) {
        guarded_fill(&p.a, any_contents(&draw), any_density(&draw), 0, &draw);
        guarded_fill(&p.b, any_contents(&draw), any_density(&draw), 0, &draw);
        multiply(ctx, round, &p, &draw, "in a fork");
    }
    _exit(EXIT_OK);
}

typedef struct forker {
    const round_t *round;
    _Atomic bool stop;
} forker_t;

static void *fork_now_and_then(void *arg)
{
    forker_t *forker = arg;
    for (int i = 0; i < 50 && !forker->stop && !shared->failed; i++) {
        int status;
        const pid_t child = fork();
        if (child == 0) {
            alarm(ROUND_SECONDS_MAX / 2); /* a child that hangs is found, whoever waits for it */
            be_a_child(forker->round, i);
        }
        if (child < 0) break;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        if (WIFSIGNALED(status))
            fail("fork %d: ended by signal %d, %s", i, WTERMSIG(status), strsignal(WTERMSIG(status)));
        atomic_fetch_add(&shared->forks, 1);
        usleep(2000);
    }
    return NULL;
}

/* Every constant of the host ten times too large or too small. */
static bool write_constants(const char *path, draw_t *draw)
{
    FILE *file = fopen(path, "we");
    if (!file) return false;
    fprintf(file, "# lacuna tuning 2\n# wrong on purpose\n");
    for (int i = 0; i < lac_constant_count; i++)
        if (!lac_constant_of_device(i))
            fprintf(file, "%s = %.6g\n", lac_constants[i].name,
                    lac_constants[i].value * (draw_once(draw, 2) ? 10.0 : 0.1));
    return fclose(file) == 0;
}

static round_t draw_round(const options_t *options, long number)
{
    round_t round = {.options = options, .number = number};
    draw_t draw = {ref_stream(options->seed, (uint64_t)number), 0};
    round.scenario = (scenario_t)(number % SCENARIOS);
    round.left = (contents_t)draw_below(&draw, CONTENTS_COUNT);
    round.right = (contents_t)draw_below(&draw, CONTENTS_COUNT);
    round.wrong_constants = draw_once(&draw, 2);
    round.forks = !draw_once(&draw, 3) && !options->no_forks;
    snprintf(round.text, sizeof round.text, "round %ld: %s", number, scenario_name[round.scenario]);
    if (round.scenario == ONE_SITE)
        snprintf(round.text + strlen(round.text), sizeof round.text - strlen(round.text), " (A %s, B %s)",
                 contents_name[round.left], contents_name[round.right]);
    snprintf(round.text + strlen(round.text), sizeof round.text - strlen(round.text), "%s%s, %d threads",
             round.wrong_constants ? ", constants wrong by ten" : "", round.forks ? ", forks" : "",
             options->threads);
    return round;
}

/* OpenBLAS ends its threads when a process forks, and hangs where another thread has given them work; and a
 * child waits for ever in blas_memory_alloc where another thread was taking memory (0.3.21, one fork of
 * 6000). So netlib's BLAS serves where it is, and else OpenBLAS on one thread. */
static void avoid_openblas(void)
{
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
#ifdef HOSTILE_PLAIN_BLAS
    if (!fully_static && !getenv("LACUNA_BLAS")) setenv("LACUNA_BLAS", HOSTILE_PLAIN_BLAS, 1);
#endif
}

/* In the round's own process, where the library has not been called yet. */
static void run_round(const round_t *round, const char *folder)
{
    worker_t worker[THREADS_MAX];
    forker_t forker = {.round = round};
    pthread_t forking;
    char path[TEXT];
    draw_t draw = draw_of(round, -1);
    snprintf(path, sizeof path, "%s/%ld.tune", folder, round->number);
    setenv("LACUNA_TUNE_CACHE", path, 1);
    if (fully_static) setenv("LACUNA_BLAS", "none", 1);
    if (round->forks) avoid_openblas();
    if (round->wrong_constants && !write_constants(path, &draw)) fail("%s: %s", path, strerror(errno));
    const bool forks = round->forks && pthread_create(&forking, NULL, fork_now_and_then, &forker) == 0;
    int threads = 0;
    for (; threads < round->options->threads; threads++) {
        worker[threads] = (worker_t){.round = round, .number = threads};
        if (pthread_create(&worker[threads].thread, NULL, work, &worker[threads])) break;
    }
    if (threads == 0) fail("no thread could be made");
    for (int i = 0; i < threads; i++) pthread_join(worker[i].thread, NULL);
    forker.stop = true;
    if (forks) pthread_join(forking, NULL);
    unlink(path);
}

/* A crash or a hang is a failure of the round, too. */
static bool passes(const round_t *round, const char *folder, const char *program)
{
    int status = 0;
    shared->failed = 0;
    const pid_t child = fork();
    if (child == 0) {
        alarm(ROUND_SECONDS_MAX);
        run_round(round, folder);
        _exit(shared->failed ? EXIT_WRONG : EXIT_OK);
    }
    if (child < 0) fail("fork: %s", strerror(errno));
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        fail("did not end within %d s", ROUND_SECONDS_MAX);
    else if (WIFSIGNALED(status))
        fail("ended by signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != EXIT_OK)
        fail("ended with %d", WEXITSTATUS(status));
    if (!shared->failed) return true;
    printf("FAILED %s\n       %s\nrepeat: %s --seed %llu --threads %d --round %ld\n", round->text,
           shared->why, program, (unsigned long long)round->options->seed, round->options->threads,
           round->number);
    return false;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run(const options_t *options, const char *program)
{
    char folder[] = "/tmp/lacuna-hostile-XXXXXX";
    long rounds = 0;
    bool passed = true;
    const double end = now() + options->seconds;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !mkdtemp(folder)) {
        fprintf(stderr, "%s: %s\n", program, strerror(errno));
        return EXIT_UNAVAILABLE;
    }
    printf("%s --seed %llu --threads %d\n", program, (unsigned long long)options->seed, options->threads);
    fflush(stdout); /* each round forks */
    for (long number = options->round < 0 ? 0 : options->round; passed; number++) {
        const round_t round = draw_round(options, number);
        passed = passes(&round, folder, program);
        rounds++;
        fflush(stdout);
        if (options->round >= 0 || (rounds >= SCENARIOS && now() >= end)) break;
    }
    printf("%ld rounds, %ld products, %ld forks: %s\n", rounds, (long)shared->products, (long)shared->forks,
           passed ? "all right" : "1 round failed");
    rmdir(folder);
    return passed ? EXIT_OK : EXIT_WRONG;
}

/* The command line --------------------------------------------------------------------------------------- */

enum { KEY_ROUND = 256, KEY_NO_FORKS, KEY_CORRUPT };

static const struct argp_option table[] = {
    {"seed", 's', "S", 0, "what the rounds are drawn from (default 1)", 0},
    {"seconds", 't', "N", 0, "begin no round after N seconds (default 20; at least three rounds)", 0},
    {"threads", 'j', "N", 0, "threads that multiply in each round, 1 to 64 (default 16)", 0},
    {"round", KEY_ROUND, "R", 0, "run round R alone: it does what it did among the others", 0},
    {"no-forks", KEY_NO_FORKS, NULL, 0, "no round forks: the allocators of the sanitizers cannot", 0},
    {"corrupt", KEY_CORRUPT, "HOW", 0,
     "spoil every result before it is compared ('element', 'outside': beside C; 'crash'): the run must fail",
     0},
    {0},
};

static bool number_of(const char *text, long low, long high, long *to)
{
    char *end;
    errno = 0;
    *to = strtol(text, &end, 10);
    return !errno && end != text && !*end && *to >= low && *to <= high;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    static const char *const corruptions[] = {"element", "outside", "crash"};
    options_t *options = state->input;
    long value = 0;
    switch (key) {
    case 's':
        if (!number_of(arg, 0, LONG_MAX, &value))
            argp_error(state, "--seed: expected a number, found '%s'", arg);
        options->seed = (uint64_t)value;
        return 0;
    case 't':
        if (!number_of(arg, 0, 1000000, &value))
            argp_error(state, "--seconds: expected a number, found '%s'", arg);
        options->seconds = (double)value;
        return 0;
    case 'j':
        if (!number_of(arg, 1, THREADS_MAX, &value))
            argp_error(state, "--threads: expected 1 to 64, found '%s'", arg);
        options->threads = (int)value;
        return 0;
    case KEY_ROUND:
        if (!number_of(arg, 0, 1000000000, &value))
            argp_error(state, "--round: expected a number, found '%s'", arg);
        options->round = value;
        return 0;
    case KEY_NO_FORKS:
        options->no_forks = true;
        return 0;
    case KEY_CORRUPT:
        for (int i = 0; i < 3; i++)
            if (!strcmp(arg, corruptions[i])) options->corrupt = (corruption_t)(i + 1);
        if (options->corrupt == CORRUPT_NOTHING)
            argp_error(state, "--corrupt: expected element, outside or crash, found '%s'", arg);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected '%s'", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char doc[] =
    "Uses the library as somebody would who wants it to fail: operands at the edge of forbidden pages, in "
    "any "
    "layout; many threads, and forks meanwhile; hundreds of shapes in rotation; contents that change from "
    "call to "
    "call, that are dense where samples fall and empty elsewhere, or one dense row; constants of the cost "
    "model that are wrong "
    "by ten. Each result is compared with a product in double.\v"
    "The seed and the number of a round repeat what it draws; how its threads meet is up to the machine, so "
    "repeat "
    "it a few times. Exit codes: 0 all right, 1 a round failed, 2 bad usage, 3 cannot run here.";

int main(int argc, char **argv)
{
    static const struct argp argp = {table, parse, NULL, doc, NULL, NULL, NULL};
    options_t options = {.seed = 1, .round = -1, .seconds = 20.0, .threads = 16};
    const char *slash = strrchr(argv[0], '/');
    argp_err_exit_status = EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    return run(&options, slash ? slash + 1 : argv[0]);
}
