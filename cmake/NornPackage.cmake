# The package: CMake files for the install tree and the build tree, pkg-config,
# header, licences. Every path in an installed file is relative to that file.
include(CMakePackageConfigHelpers)

list(APPEND norn_targets norn_dl)
export(TARGETS ${norn_targets} NAMESPACE norn:: FILE "${PROJECT_BINARY_DIR}/nornTargets.cmake")
configure_file("${PROJECT_SOURCE_DIR}/cmake/nornConfig.cmake.in" "${PROJECT_BINARY_DIR}/nornConfig.cmake" @ONLY)
# The Fortran sources: in the build tree, as in the install tree, beside the configuration.
configure_file("${PROJECT_SOURCE_DIR}/cmake/NornFortran.cmake" "${PROJECT_BINARY_DIR}/NornFortran.cmake" COPYONLY)
include("${PROJECT_BINARY_DIR}/NornFortran.cmake")
norn_fortran_files(norn_fortran)
foreach(file IN LISTS norn_fortran)
  configure_file("${PROJECT_SOURCE_DIR}/bindings/fortran/${file}.f90" "${PROJECT_BINARY_DIR}/fortran/${file}.f90" COPYONLY)
endforeach()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/nornConfigVersion.cmake" COMPATIBILITY SameMinorVersion)

if(NOT NORN_INSTALL)
  return()
endif()

# Packagers may give LIBDIR and INCLUDEDIR as absolute paths, inside the prefix or not.
set(norn_pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH norn_pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" norn_pc_prefix "${norn_pc_prefix}")
foreach(kind LIBDIR INCLUDEDIR)
  set(norn_pc_${kind} "\${prefix}")
  cmake_path(APPEND norn_pc_${kind} "${CMAKE_INSTALL_${kind}}")
endforeach()
list(TRANSFORM norn_system_libraries PREPEND "-l" OUTPUT_VARIABLE norn_pc_private)
list(JOIN norn_pc_private " " norn_pc_private)
configure_file("${PROJECT_SOURCE_DIR}/cmake/norn.pc.in" "${PROJECT_BINARY_DIR}/norn.pc" @ONLY)
list(TRANSFORM norn_fortran REPLACE "(.+)" "\${sourcedir}/\\1.f90" OUTPUT_VARIABLE norn_pc_fortran)
list(JOIN norn_pc_fortran " " norn_pc_fortran)
configure_file("${PROJECT_SOURCE_DIR}/cmake/norn-fortran.pc.in" "${PROJECT_BINARY_DIR}/norn-fortran.pc" @ONLY)

set(norn_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/norn")
install(TARGETS ${norn_targets} EXPORT nornTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT norn_runtime NAMELINK_COMPONENT norn_development
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT norn_development)
install(EXPORT nornTargets NAMESPACE norn:: DESTINATION "${norn_cmake_dir}")
install(FILES "${PROJECT_BINARY_DIR}/nornConfig.cmake" "${PROJECT_BINARY_DIR}/nornConfigVersion.cmake"
  DESTINATION "${norn_cmake_dir}")
install(FILES cmake/NornFortran.cmake DESTINATION "${norn_cmake_dir}")
install(DIRECTORY bindings/fortran/ DESTINATION "${norn_cmake_dir}/fortran" FILES_MATCHING PATTERN "*.f90")
install(FILES "${PROJECT_BINARY_DIR}/norn.pc" "${PROJECT_BINARY_DIR}/norn-fortran.pc" DESTINATION "${norn_pkgconfig_dir}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE-APACHE LICENSE-MIT NOTICE DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/norn"
  COMPONENT norn_licences)

list(TRANSFORM CMAKE_DL_LIBS PREPEND "-l" OUTPUT_VARIABLE norn_pc_dl)
set(norn_pc_layers norn-dl)
if(TARGET norn_cxx)
  list(APPEND norn_pc_layers norn-cxx)
endif()
foreach(layer IN LISTS norn_pc_layers)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${layer}.pc.in" "${PROJECT_BINARY_DIR}/${layer}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${layer}.pc" DESTINATION "${norn_pkgconfig_dir}")
endforeach()
