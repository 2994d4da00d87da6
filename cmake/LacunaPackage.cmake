# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# Debian packages of an installation below /usr, by cpack: the library, what develops with it, the tool, the drop-in BLAS.
#   cmake --preset deb && cmake --build --preset deb && (cd build-deb && cpack)

find_program(LACUNA_DPKG dpkg)
if(NOT LACUNA_DPKG OR SKBUILD) # a wheel is no Debian package
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lacuna)
set(LACUNA_MAINTAINER "the Lacuna authors <authors@lacuna.invalid>" CACHE STRING "who answers for the packages")
set(CPACK_PACKAGE_CONTACT "${LACUNA_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "matrix products that skip the zeros")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library development tool blas)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

set(version "= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
find_program(LACUNA_SHLIBDEPS dpkg-shlibdeps)
if(LACUNA_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS libc6)
endif()

# lacuna_package(component name section description depends): one package.
macro(lacuna_package component name section description depends)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}")
  # Debian looks for a licence in every package; other installations have theirs in one place.
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${name} RENAME copyright
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endmacro()
lacuna_package(library liblacuna0 libs
  "The shared library." "")
lacuna_package(development liblacuna-dev libdevel
  "Headers, CMake package, documents and examples." "liblacuna0 (${version})")
lacuna_package(tool lacuna math
  "The command line." "liblacuna0 (${version})")
lacuna_package(blas liblacuna-blas libs
  "The drop-in library for programs that call a BLAS." "liblacuna0 (${version})")
file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs "liblacuna 0 liblacuna0\n")
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/shlibs ${PROJECT_BINARY_DIR}/debian/triggers)
set(CPACK_DEBIAN_BLAS_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers)

# Another choice for libblas.so.3: below every real BLAS in priority, so that nothing changes until somebody chooses it.
if(TARGET lacuna_whole)
  find_program(LACUNA_DPKG_ARCHITECTURE dpkg-architecture)
  if(LACUNA_DPKG_ARCHITECTURE)
    execute_process(COMMAND ${LACUNA_DPKG_ARCHITECTURE} -qDEB_HOST_MULTIARCH OUTPUT_VARIABLE LACUNA_MULTIARCH
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
  else()
    set(LACUNA_MULTIARCH ${CMAKE_LIBRARY_ARCHITECTURE})
  endif()
  set(LACUNA_ALTERNATIVE ${CPACK_PACKAGING_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/lacuna/libblas.so.3)
  foreach(script postinst prerm)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/debian_${script}.in ${PROJECT_BINARY_DIR}/debian/${script} @ONLY
                   FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    list(APPEND CPACK_DEBIAN_BLAS_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/${script})
  endforeach()
  set(CPACK_DEBIAN_BLAS_PACKAGE_PROVIDES libblas.so.3)
endif()

include(CPack)
