/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * What cannot be attached to an operand on a device, and what is stale: a status, a message that names the
 * array, nothing attached, nothing written. */
#include "gpu_case.h"

enum { ROWS = 3, COLS = 5 };

static const struct {
    const char *what, *word;
    int32_t ptr[ROWS + 1], idx[4];
    lac_status_t status;
} lists[] = {{"a first pointer that is not 0", "ptr[0]", {1, 2, 3, 4}, {0, 1, 2, 3}, LAC_ERR_SPARSE},
             {"pointers that fall", "ptr[2]", {0, 3, 2, 4}, {0, 1, 2, 3}, LAC_ERR_SPARSE},
             {"an index out of range", "idx[3]", {0, 2, 3, 4}, {0, 1, 2, 5}, LAC_ERR_SPARSE},
             {"a negative index", "idx[2]", {0, 2, 3, 4}, {0, 1, -1, 3}, LAC_ERR_SPARSE},
             {"unsorted indices", "not sorted", {0, 2, 3, 4}, {1, 0, 2, 3}, LAC_ERR_SPARSE},
             {"a duplicate", "duplicate", {0, 2, 3, 4}, {1, 1, 2, 3}, LAC_ERR_SPARSE},
             {"a good list", "", {0, 2, 3, 4}, {0, 1, 2, 4}, LAC_OK}};

/* Lists on the device are read back and checked as those of the host are. */
static void test_attached_lists(lac_ctx_t *ctx)
{
    for (size_t i = 0; i < GPU_COUNT(lists); i++) {
        lac_meta_t *meta;
        void *ptr = gpu_upload(ctx, lists[i].ptr, sizeof lists[i].ptr),
             *idx = gpu_upload(ctx, lists[i].idx, sizeof lists[i].idx);
        gpu_expect(lac_meta_create_for(ctx, &meta, ROWS, COLS), LAC_OK, "create");
        gpu_expect_error(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, NULL), lists[i].status, lists[i].word,
                         lists[i].what);
        if (lists[i].status && lac_meta_density(meta) >= 0) gpu_fail("%s: was attached", lists[i].what);
        lac_meta_free(meta);
        lac_device_free(ctx, ptr);
        lac_device_free(ctx, idx);
    }
}

/* Arrays of the host, attached to metadata of the device and the other way round. */
static void test_attached_spaces(lac_ctx_t *ctx)
{
    static const int32_t ptr[ROWS + 1] = {0, 1, 2, 3}, idx[4] = {0, 1, 2, 3};
    lac_meta_t *meta;
    gpu_case_t x;
    gpu_expect(lac_meta_create_for(ctx, &meta, ROWS, COLS), LAC_OK, "create");
    gpu_expect_error(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, NULL), LAC_ERR_SPACE, "device",
                     "host arrays");
    lac_meta_free(meta);
    if (gpu_case_make(&x, ctx, "sgemm:NN:3x5x4:A=bern0.1:s4")) {
        lac_obj_t a = x.a;
        gpu_expect(lac_meta_create(&meta, ROWS, COLS), LAC_OK, "create");
        gpu_expect(lac_meta_attach_csr(meta, LAC_I32, ptr, idx, NULL), LAC_OK, "attach on the host");
        a.meta = meta;
        gpu_expect_error(lac_gemm(ctx, NULL, &a, &x.b, NULL, &x.c), LAC_ERR_SPACE, "a.meta", "host metadata");
        gpu_expect_error(lac_meta_scan(ctx, &a, LAC_META_CSR), LAC_ERR_SPACE, "obj.meta", "scan");
        if (gpu_case_checksum(&x) != ref_matrix_checksum(&x.before)) gpu_fail("c was written");
        lac_meta_free(meta);
    }
    gpu_case_free(&x);
}

static void test_stale_operand(lac_ctx_t *ctx)
{
    gpu_case_t x;
    if (gpu_case_make(&x, ctx, "sgemm:NN:7x300x41:A=bern0.1:metaA=csr:onlyA=1:s4")) {
        lac_decision_t decision;
        lac_obj_t a = x.a;
        gpu_expect(lac_meta_touch(x.know_a.meta), LAC_OK, "touch");
        gpu_expect_error(gpu_case_run(&x, NULL, NULL), LAC_ERR_STALE, "a.meta", "a stale operand");
        if (gpu_case_checksum(&x) != ref_matrix_checksum(&x.before)) gpu_fail("c was written");
        x.a.buf = (char *)x.know_a.memory + (size_t)x.shift * sizeof(float);
        if (gpu_expect(gpu_case_run(&x, NULL, &decision), LAC_OK, "with its buffer"))
            gpu_case_check(&x, &decision, false);
        x.a = a;
    }
    gpu_case_free(&x);
}

int main(int argc, char **argv)
{
    static const gpu_test_t tests[] = {GPU_TEST(test_attached_lists), GPU_TEST(test_attached_spaces),
                                       GPU_TEST(test_stale_operand)};
    return gpu_run(tests, GPU_COUNT(tests), argc, argv);
}
