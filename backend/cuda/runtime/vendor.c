/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * The vendor's libraries: opened once for the process, handles per exec. */
#include "vendor.h"
#include "capture.h"
#include "base/library.h"
#include "base/status.h"

#include <pthread.h>

static pthread_once_t searched = PTHREAD_ONCE_INIT;
static lac_cublas_t cublas;

static void search(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so", NULL};
    static const lac_library_call_t calls[] = {{"cublasCreate_v2", &cublas.create, false},
                                               {"cublasDestroy_v2", &cublas.destroy, false},
                                               {"cublasSetStream_v2", &cublas.set_stream, false},
                                               {"cublasSetWorkspace_v2", &cublas.set_workspace, false},
                                               {"cublasSetMathMode", &cublas.set_math, false},
                                               {"cublasGetVersion_v2", &cublas.version, false},
                                               {"cublasSgemm_v2", &cublas.sgemm, false},
                                               {"cublasSgemm_v2_64", &cublas.sgemm_64, true},
                                               {"cublasDgemm_v2", &cublas.dgemm, true},
                                               {"cublasDgemm_v2_64", &cublas.dgemm_64, true},
                                               {"cublasSetPointerMode_v2", &cublas.set_scalars, true},
                                               {"cublasGemmEx", &cublas.gemm_ex, true},
                                               {"cublasGemmEx_64", &cublas.gemm_ex_64, true},
                                               {"cublasSgemmStridedBatched", &cublas.sgemm_strided, false},
                                               {"cublasGemmStridedBatchedEx", &cublas.gemm_strided_ex, true},
                                               {NULL, NULL, false}};
    void *library = lac_library_open(names, cublas.missing, sizeof cublas.missing);
    cublas.found =
        library && lac_library_take(library, "cuBLAS", calls, cublas.missing, sizeof cublas.missing);
}

const lac_cublas_t *lac_cublas(void)
{
    pthread_once(&searched, search);
    return &cublas;
}

lac_status_t lac_cublas_check_error(int status, const char *what)
{
    return status ? lac_fail(LAC_ERR_VENDOR, "%s: cuBLAS status %d", what, status) : LAC_OK;
}

static lac_status_t create(lac_exec_t *exec, void **handle)
{
    const lac_cublas_t *blas = lac_cublas();
    lac_status_t status = LAC_OK;
    if (!exec->blas_workspace)
        status = lac_cuda_check_error(cudaMalloc(&exec->blas_workspace, LAC_CUDA_BLAS_WORKSPACE),
                                      "cuBLAS workspace");
    if (status) return status;
    bool alone = lac_cuda_alone_begin();
    status = lac_cublas_check_error(blas->create(handle), "create");
    if (alone) lac_cuda_alone_end();
    if (status) return status;
    status = lac_cublas_check_error(blas->set_stream(*handle, exec->stream), "stream");
    if (!status)
        status = lac_cublas_check_error(
            blas->set_workspace(*handle, exec->blas_workspace, LAC_CUDA_BLAS_WORKSPACE), "workspace");
    if (status) blas->destroy(*handle); /* on another stream it would compute too soon */
    return status;
}

lac_status_t lac_cublas_handle(lac_exec_t *exec, void **handle)
{
    *handle = exec->blas;
    if (exec->blas) return LAC_OK;
    if (!lac_cublas()->found) return lac_fail(LAC_ERR_UNAVAILABLE, "cuBLAS: %s", lac_cublas()->missing);
    lac_status_t status = lac_cuda_may_allocate(exec, "cuBLAS handle");
    if (status) return status;
    enum cudaStreamCaptureMode mode = lac_cuda_capture_relaxed_begin();
    status = create(exec, handle);
    lac_cuda_capture_relaxed_end(mode);
    if (status) *handle = NULL;
    exec->blas = *handle;
    return status;
}

lac_status_t lac_cublas_math(lac_exec_t *exec, void *handle, lac_math_t math, bool halves)
{
    int mode = math == LAC_MATH_TF32       ? LAC_CUBLAS_TF32_MATH
               : math == LAC_MATH_PEDANTIC ? LAC_CUBLAS_PEDANTIC_MATH
                                           : LAC_CUBLAS_DEFAULT_MATH;
    if (halves) mode = LAC_CUBLAS_DEFAULT_MATH | LAC_CUBLAS_WIDE_REDUCTION;
    if (exec->blas_math == mode) return LAC_OK;
    lac_status_t status = lac_cublas_check_error(lac_cublas()->set_math(handle, mode), "math mode");
    if (!status) exec->blas_math = mode;
    return status;
}

void lac_cuda_vendor_close(lac_exec_t *exec)
{
    if (exec->blas) lac_cublas()->destroy(exec->blas);
    cudaFree(exec->blas_workspace);
}
