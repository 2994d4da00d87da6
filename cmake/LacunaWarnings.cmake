# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# lacuna_options(target): the warnings, sanitizers and counters that every target of ours is built with.

function(lacuna_options target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpointer-arith -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes>)
  if(LACUNA_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Werror>)
  endif()
  if(LACUNA_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:C>:-fsanitize=${LACUNA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1>)
    target_link_options(${target} PRIVATE -fsanitize=${LACUNA_SANITIZE})
  endif()
  # The kernels' loops would do little but count, and are not what is asked about.
  if(LACUNA_COVERAGE AND NOT target MATCHES "^lacuna_kernels")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:--coverage$<SEMICOLON>-fprofile-update=atomic>)
  endif()
  if(LACUNA_COVERAGE)
    target_link_options(${target} PRIVATE --coverage)
  endif()
  # A shared library with a symbol that nobody defines fails to link, and not to load. (A sanitizer's runtime is the program's.)
  get_target_property(type ${target} TYPE)
  if(type MATCHES "^(SHARED|MODULE)_LIBRARY$" AND NOT LACUNA_SANITIZE AND NOT LACUNA_FUZZ)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
endfunction()
