/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The host as a backend: its hooks. */
#include "backend.h"
#include "host/operators/link.h"
#include "host/operators/operators.h"
#include "host/routes/routes.h"
#include "host/formats/dense_view.h"
#include "host/formats/formats.h"
#include "exec.h"
#include "base/status.h"

#include <stdlib.h>

static lac_status_t open_host(lac_exec_t **exec, lac_device_request_t *request, const lac_machine_t *machine)
{
    (void)request;
    *exec = calloc(1, sizeof **exec);
    if (!*exec) return lac_fail(LAC_ERR_MEMORY, "context: out of memory");
    for (int type = 0; type < LAC_HOST_TYPES; type++)
        (*exec)->kernels[type] = lac_host_kernels((lac_host_type_t)type);
    (*exec)->machine = machine;
    return LAC_OK;
}

static void close_host(lac_exec_t *exec)
{
    if (!exec) return;
    for (int i = 0; i < LAC_WORK_COUNT; i++) lac_buffer_free(&exec->work[i]);
    free(exec);
}

/* Of a symmetric matrix of which one triangle is stored: an element of the other one is looked up where its
 * mirror image lies. The positions are those of the kernel, probe. */
static int64_t sample_symmetric(const lac_operand_t *x, lac_dim_t n, int64_t samples, uint64_t seed)
{
    uint64_t row = seed * UINT64_C(0x9E3779B97F4A7C15) + (UINT64_C(1) << 63),
             column = row * UINT64_C(0xBF58476D1CE4E5B9);
    int64_t seen = 0;
    for (int64_t t = 0; t < samples; t++) {
        lac_dim_t r = (lac_dim_t)((unsigned __int128)row * (uint64_t)n >> 64),
                  c = (lac_dim_t)((unsigned __int128)column * (uint64_t)n >> 64);
        bool stored = lac_triangle_holds(x->triangle, r, c);
        seen +=
            !lac_is_zero(lac_dt_size(x->dt), x->buf, stored ? r * x->rs + c * x->cs : c * x->rs + r * x->cs);
        row += UINT64_C(0xC13FA9A902A6328F);
        column += UINT64_C(0x91E10DA5C79E7B1D);
    }
    return seen;
}

static int64_t sample(lac_exec_t *exec, const lac_operand_t *x, lac_dim_t rows, lac_dim_t cols,
                      lac_sample_t *out, uint64_t seed, const void *tag, bool first)
{
    (void)tag, (void)first;
    out->lines = -1.0; /* a run counts them */
    if (x->triangle) return sample_symmetric(x, rows, out->looked, seed);
    const lac_host_scans_t *scans = lac_scans(lac_kernels(exec, x->dt), x->dt);
    return scans->probe(x->buf, rows, cols, x->rs, x->cs, out->looked, seed);
}

static const struct {
    unsigned bit;
    lac_format_t format;
} scanned[] = {{LAC_META_CSR, LAC_FORMAT_CSR},
               {LAC_META_CSC, LAC_FORMAT_CSC},
               {LAC_META_BITMASK, LAC_FORMAT_BITS},
               {LAC_META_ACTIVE, LAC_FORMAT_ACTIVE}};

static lac_status_t scan_density(lac_exec_t *exec, const lac_stored_t *x, lac_meta_t *meta, int threads)
{
    int64_t nnz = lac_host_nonzeros(exec, x, threads);
    if (nnz < 0) return LAC_ERR_MEMORY;
    meta->nnz = nnz;
    meta->density_origin = LAC_ORIGIN_SCANNED;
    return LAC_OK;
}

static lac_status_t scan(lac_exec_t *exec, const lac_obj_t *obj, unsigned what, int threads)
{
    lac_stored_t x = {obj->dt, lac_meta_values(obj->meta), obj->m, obj->n, obj->rs, obj->cs, obj->buf};
    bool counted = false;
    for (size_t i = 0; i < sizeof scanned / sizeof *scanned; i++) {
        lac_format_data_t data;
        if (!(what & scanned[i].bit)) continue;
        lac_status_t status = lac_format_build(exec, &x, threads, scanned[i].format, &data);
        if (status) return status;
        lac_meta_install(obj->meta, scanned[i].format, &data);
        counted = true;
        if (scanned[i].format != LAC_FORMAT_ACTIVE) continue;
        obj->meta->nnz = data.nonzeros;
        obj->meta->density_origin = LAC_ORIGIN_SCANNED;
    }
    return counted ? LAC_OK : scan_density(exec, &x, obj->meta, threads);
}

static size_t workspace_bytes(const lac_exec_t *exec)
{
    size_t bytes = 0;
    for (int i = 0; i < LAC_WORK_COUNT; i++) bytes += exec->work[i].bytes;
    return bytes;
}

static void info(const lac_exec_t *exec, lac_info_fn fact, void *arg)
{
    const lac_blas_t *blas = lac_blas();
    fact(arg, "instruction set", exec->kernels[LAC_HOST_F32]->isa);
    fact(arg, "blas", blas->gemm[LAC_HOST_F32] ? blas->name : "none");
    if (blas->version[0]) fact(arg, "blas version", blas->version);
    if (blas->missing[0]) fact(arg, "blas missing", blas->missing);
}

const lac_backend_t lac_backend_host = {.name = "host",
                                        .space = LAC_HOST,
                                        .link = &lac_host_link,
                                        .slicer = &lac_host_slicer,
                                        .csr = &lac_host_csr,
                                        .routes = lac_host_routes,
                                        .open = open_host,
                                        .close = close_host,
                                        .sample = sample,
                                        .scan = scan,
                                        .sddmm = lac_host_sddmm,
                                        .lif = lac_host_lif,
                                        .apply_epilogue = lac_host_apply_epilogue,
                                        .batched = lac_host_batched,
                                        .densify = lac_host_densify,
                                        .count = lac_host_count,
                                        .occupancy = lac_host_occupancy,
                                        .tune = lac_host_tune,
                                        .bytes = workspace_bytes,
                                        .info = info};
