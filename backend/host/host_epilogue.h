/* SPDX-FileCopyrightText: 2026 the Lacuna authors
 * SPDX-License-Identifier: BSD-3-Clause
 * Bias and activation on the host: the backend's hook. */
#ifndef LACUNA_HOST_EPILOGUE_H
#define LACUNA_HOST_EPILOGUE_H

#include "host_exec.h"

lac_status_t lac_host_apply_epilogue(lac_exec_t *exec, const lac_problem_t *p);

#endif
