# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# The library's installation, with a CMake package (lacuna::lacuna, lacuna::lacuna_static) and a pkg-config file. What else is installed
# (the tool, the drop-in libraries, the CUDA backend) is installed by its own folder.

include(CMakePackageConfigHelpers)

install(TARGETS lacuna EXPORT lacunaTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS lacuna_static EXPORT lacunaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

# The tool finds the library from wherever both were moved to.
if(TARGET lacuna_tool)
  file(RELATIVE_PATH library_from_tool ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(lacuna_tool PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_tool}")
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lacuna DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development
        FILES_MATCHING PATTERN *.md PATTERN *.svg PATTERN man EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/lacuna)
install(EXPORT lacunaTargets NAMESPACE lacuna:: DESTINATION ${package} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lacunaConfig.cmake.in
  ${PROJECT_BINARY_DIR}/lacunaConfig.cmake INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lacunaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lacunaConfig.cmake ${PROJECT_BINARY_DIR}/lacunaConfigVersion.cmake
        DESTINATION ${package} COMPONENT development)

# Relative to the file itself where the folders are relative, so that an installed tree may be moved.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(LACUNA_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(LACUNA_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
  set(LACUNA_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
  set(LACUNA_PC_PREFIX "\${pcfiledir}/${prefix_from_pc}")
  set(LACUNA_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(LACUNA_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/lacuna.pc.in ${PROJECT_BINARY_DIR}/lacuna.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lacuna.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

install(FILES ${PROJECT_SOURCE_DIR}/docs/man/lacuna.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool)
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/lacuna-environment.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7
        COMPONENT library)

# The API reference, where Doxygen is: cmake --build build --target docs
find_program(LACUNA_DOXYGEN doxygen)
mark_as_advanced(LACUNA_DOXYGEN)
if(LACUNA_DOXYGEN)
  configure_file(${PROJECT_SOURCE_DIR}/docs/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
  add_custom_target(docs COMMAND ${LACUNA_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile
    COMMENT "Writing the API reference into ${PROJECT_BINARY_DIR}/reference/html" VERBATIM)
endif()
