# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# lacuna_harden(target): how everything that is shipped is compiled and linked besides lacuna_options. The kernels are
# not among it: they are leaf loops over the caller's memory, which a stack protector would only slow down.

option(LACUNA_HARDENING "stack protector, checked libc calls, read-only relocations in what is shipped" ON)

include(CheckPIESupported)
check_pie_supported()

function(lacuna_harden target)
  if(NOT LACUNA_HARDENING OR LACUNA_SANITIZE)
    return()
  endif()
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong>)
  # A level that the user chose stays; without optimisation there is none to be had.
  if(NOT CMAKE_C_FLAGS MATCHES "_FORTIFY_SOURCE")
    target_compile_options(${target} PRIVATE
      $<$<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=2>)
  endif()
  target_link_options(${target} PRIVATE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
endfunction()
