# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# The C sources of the CUDA backend: its own, and the pure parts of the core that it has inside.

set(LACUNA_CUDA_CORE base/clock.c base/gather.c base/library.c base/memory.c operand/metadata.c operand/problem.c route/machine.c route/route.c
  route/sided.c)
set(LACUNA_CUDA_OWN
  runtime/backend.c runtime/branch.c runtime/capture.c runtime/event_timer.c runtime/exec.c runtime/machine.c runtime/memory.c
  runtime/nccl.c runtime/open.c runtime/probe.c runtime/tune.c runtime/vendor.c
  routes/adaptive.c routes/bitmask.c routes/csr.c routes/cusparse.c routes/dense.c routes/event.c routes/gather.c routes/stream.c routes/table.c routes/tiles.c
  formats/dense_view.c formats/formats.c
  operators/batch.c operators/csr.c operators/epilogue.c operators/lif.c operators/link.c operators/sddmm.c operators/slice.c operators/spmm.c)
list(TRANSFORM LACUNA_CUDA_CORE PREPEND ${CMAKE_CURRENT_LIST_DIR}/../)
list(TRANSFORM LACUNA_CUDA_OWN PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
set(LACUNA_CUDA_SOURCES ${LACUNA_CUDA_CORE} ${LACUNA_CUDA_OWN})
