# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# What a build for the Python package (pyproject.toml) does differently: the CUDA backend where nvcc is, for all
# devices, and files that a wheel can hold.
if(NOT SKBUILD)
  return()
endif()

find_program(LACUNA_NVCC nvcc HINTS /usr/local/cuda/bin)
if(NOT DEFINED LACUNA_CUDA)
  if(LACUNA_NVCC)
    set(LACUNA_CUDA ON CACHE BOOL "build the CUDA backend (nvcc was found)")
  endif()
endif()

# Machine code for each major capability from 8.0 on that this nvcc knows, and PTX of the newest for those to come.
if(LACUNA_CUDA AND LACUNA_NVCC AND NOT DEFINED LACUNA_CUDA_ARCHITECTURES)
  execute_process(COMMAND ${LACUNA_NVCC} --list-gpu-code OUTPUT_VARIABLE codes ERROR_QUIET)
  string(REGEX MATCHALL "sm_[0-9]*0" codes "${codes}")
  list(TRANSFORM codes REPLACE "sm_" "")
  list(FILTER codes INCLUDE REGEX "^([89]|1[0-9])0$")
  list(SORT codes COMPARE NATURAL)
  if(codes)
    list(POP_BACK codes newest)
    list(TRANSFORM codes APPEND "-real")
    set(LACUNA_CUDA_ARCHITECTURES ${codes} ${newest} CACHE STRING "device architectures, as CUDA_ARCHITECTURES of CMake")
  endif()
endif()

# The man pages go where a virtual environment has its own.
set(CMAKE_INSTALL_MANDIR ${SKBUILD_DATA_DIR}/share/man)

# lacuna_wheel_files(): after all targets. A wheel has no symbolic links, so that the library's file is its SONAME.
function(lacuna_wheel_files)
  set_target_properties(lacuna PROPERTIES VERSION 0)
  set(shipped lacuna lacuna_blas lacuna_cublas lacuna_audit lacuna_torch lacuna_xla lacuna_tool)
  if(TARGET lacuna_cuda)
    list(APPEND shipped lacuna_cuda)
  endif()
  add_custom_target(lacuna_wheel DEPENDS ${shipped})
endfunction()
