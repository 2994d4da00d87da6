# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# What the tests of both drop-in libraries are made with. ${shelf} is the folder where their fakes lie, and where the tests run.
include_directories(${PROJECT_SOURCE_DIR}/plugin ${PROJECT_SOURCE_DIR}/backend) # shapes and symbols; api/interpose.h

# shelved(name source [LINK library...] [DEFINE macro...] [PLAIN]): a shared object on the shelf; PLAIN: without "lib".
function(shelved name source)
  cmake_parse_arguments(shelved "PLAIN" "" "LINK;DEFINE" ${ARGN})
  add_library(${name} SHARED ${source})
  lacuna_options(${name})
  target_compile_definitions(${name} PRIVATE ${shelved_DEFINE})
  target_link_libraries(${name} PRIVATE ${shelved_LINK} ${CMAKE_DL_LIBS})
  target_link_options(${name} PRIVATE -Wl,--no-as-needed)
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${shelf}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  if(shelved_PLAIN)
    set_target_properties(${name} PROPERTIES PREFIX "")
  endif()
endfunction()

# dropin_program(name dropin [LINK library...] [SOURCE file...] [ENVIRONMENT setting...]): name.c and more sources, with the
# drop-in library first in line, then the rest.
function(dropin_program name dropin)
  cmake_parse_arguments(program "" "" "LINK;SOURCE;ENVIRONMENT" ${ARGN})
  lacuna_unit_test(${name} ${name}.c ${program_SOURCE} LINK ${dropin} ${program_LINK} ${CMAKE_DL_LIBS})
  target_link_options(${name} PRIVATE -Wl,--no-as-needed)
  foreach(test ${name} valgrind.${name})
    if(TEST ${test})
      set_tests_properties(${test} PROPERTIES WORKING_DIRECTORY ${shelf})
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT ${program_ENVIRONMENT})
    endif()
  endforeach()
endfunction()

# dropin_mode(program mode [ARGUMENT word] [ENVIRONMENT setting...]): the same program once more, with another argument (if
# none is given, the mode) or environment.
function(dropin_mode program mode)
  cmake_parse_arguments(more "" "ARGUMENT" "ENVIRONMENT" ${ARGN})
  if(NOT LACUNA_HAVE_CMOCKA)
    return()
  endif()
  if(NOT more_ARGUMENT AND NOT more_ENVIRONMENT)
    set(more_ARGUMENT ${mode})
  endif()
  add_test(NAME ${program}.${mode} COMMAND ${program} ${more_ARGUMENT} WORKING_DIRECTORY ${shelf})
  set_tests_properties(${program}.${mode} PROPERTIES LABELS "unit;plugin" TIMEOUT 300)
  set_property(TEST ${program}.${mode} APPEND PROPERTY ENVIRONMENT ${more_ENVIRONMENT})
endfunction()
