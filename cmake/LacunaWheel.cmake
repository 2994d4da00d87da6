# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# What a build for the Python package (pyproject.toml) does differently: the CUDA backend where nvcc is, and files
# that a wheel can hold.
if(NOT SKBUILD)
  return()
endif()

if(NOT DEFINED LACUNA_CUDA)
  find_program(LACUNA_NVCC nvcc HINTS ENV CUDACXX /usr/local/cuda/bin)
  if(LACUNA_NVCC)
    set(LACUNA_CUDA ON CACHE BOOL "build the CUDA backend (nvcc was found)")
  endif()
endif()

# The man pages go where a virtual environment has its own.
set(CMAKE_INSTALL_MANDIR ${SKBUILD_DATA_DIR}/share/man)

# lacuna_wheel_files(): after all targets. A wheel has no symbolic links, so that the library's file is its SONAME.
function(lacuna_wheel_files)
  set_target_properties(lacuna PROPERTIES VERSION 0)
  set(shipped lacuna lacuna_blas lacuna_cublas lacuna_audit lacuna_tool)
  if(TARGET lacuna_cuda)
    list(APPEND shipped lacuna_cuda)
  endif()
  add_custom_target(lacuna_wheel DEPENDS ${shipped})
endfunction()
