/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * A cuBLAS that has every name and makes no handle: as one of another version than the driver's. */
int broken_cublas_call(void);

int broken_cublas_call(void)
{
    return 1; /* CUBLAS_STATUS_NOT_INITIALIZED */
}

#define FAILS __attribute__((alias("broken_cublas_call")))

int cublasCreate_v2(void) FAILS;
int cublasDestroy_v2(void) FAILS;
int cublasSetStream_v2(void) FAILS;
int cublasSetWorkspace_v2(void) FAILS;
int cublasSetMathMode(void) FAILS;
int cublasGetVersion_v2(void) FAILS;
int cublasSgemm_v2(void) FAILS;
int cublasSgemm_v2_64(void) FAILS;
int cublasSetPointerMode_v2(void) FAILS;
int cublasSgemmStridedBatched(void) FAILS;
