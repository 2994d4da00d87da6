# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# lacuna_whole_blas(target blas folder): libblas.so.3 in `folder`, for use in place of a whole BLAS. It has no
# code: it names liblacuna_blas.so and then `blas` as what it needs, so that the dynamic linker finds our few
# symbols first and every other symbol in that BLAS. `blas` must have a SONAME other than libblas.so.3.

function(lacuna_whole_blas target blas folder)
  add_library(${target} SHARED ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/whole_blas.c)
  lacuna_options(${target})
  lacuna_harden(${target})
  target_link_options(${target} PRIVATE -Wl,--no-as-needed)
  target_link_libraries(${target} PRIVATE lacuna_blas ${blas})
  file(RELATIVE_PATH from_folder ${folder} ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME blas VERSION 3 SOVERSION 3
    LIBRARY_OUTPUT_DIRECTORY ${folder}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/${from_folder}")
endfunction()
