/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Stands in for the CUDA driver's header, as far as the backend's host code names it. */
#ifndef LACUNA_STANDIN_CUDA_H
#define LACUNA_STANDIN_CUDA_H

typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef enum cudaError_enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 } CUresult;
typedef enum CUpointer_attribute_enum { CU_POINTER_ATTRIBUTE_BUFFER_ID = 7 } CUpointer_attribute;

#endif
