# SPDX-FileCopyrightText: 2026 the Lacuna authors
# SPDX-License-Identifier: BSD-3-Clause
# What is installed and where, with a CMake package (lacuna::lacuna) and a pkg-config file.

include(CMakePackageConfigHelpers)

set_target_properties(lacuna PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)
target_include_directories(lacuna INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_library(lacuna::lacuna ALIAS lacuna)
install(TARGETS lacuna EXPORT lacunaTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# Opened by name or preloaded, never linked to: they carry no version and find the library beside them.
foreach(module lacuna_cuda lacuna_blas lacuna_cublas)
  if(TARGET ${module})
    set_target_properties(${module} PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()

if(TARGET lacuna_tool)
  file(RELATIVE_PATH library_from_tool ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(lacuna_tool PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_tool}")
  install(TARGETS lacuna_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lacuna DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/lacuna)
install(EXPORT lacunaTargets NAMESPACE lacuna:: DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lacunaConfig.cmake.in
  ${PROJECT_BINARY_DIR}/lacunaConfig.cmake INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lacunaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lacunaConfig.cmake ${PROJECT_BINARY_DIR}/lacunaConfigVersion.cmake
        DESTINATION ${package})

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
install(FILES ${PROJECT_BINARY_DIR}/lacuna.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
