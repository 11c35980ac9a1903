# Debian packages, by `cpack -G DEB` in the build folder: libnorn0 (the number of the soname) with what programs need
# to run, libnorn-dev with what they need to be built, and libnorn0-FAMILY with the plug-in for a family of MPIs.

set(norn_runtime_package "libnorn${NORN_SOVERSION}")
set(norn_debian_version "${PROJECT_VERSION}-1")

set(CPACK_PACKAGE_NAME norn)
set(CPACK_PACKAGE_VENDOR "the norn developers")
# Whoever hands packages out says his own: -DCPACK_PACKAGE_CONTACT="Name <address>".
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "the norn developers")
endif()
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_VERBATIM_VARIABLES ON)
# Not CPack's own /usr: the folders in the .pc files are relative to this one.
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_STRIP_FILES ON)

# CPack makes folders as the umask says; a package must not depend on who built it.
file(CONFIGURE OUTPUT debian/folders.cmake @ONLY CONTENT [[
file(GLOB_RECURSE entries LIST_DIRECTORIES ON "${CPACK_TEMPORARY_DIRECTORY}/*")
foreach(entry IN LISTS entries)
  if(IS_DIRECTORY "${entry}" AND NOT IS_SYMLINK "${entry}")
    file(CHMOD "${entry}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
      WORLD_READ WORLD_EXECUTE)
  endif()
endforeach()
]])
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_BINARY_DIR}/debian/folders.cmake")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL norn_development)
if(NORN_BUILD_SHARED)
  list(PREPEND CPACK_COMPONENTS_ALL norn_runtime)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE norn)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_NORN_RUNTIME_PACKAGE_NAME "${norn_runtime_package}")
set(CPACK_DEBIAN_NORN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_NORN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_NORN_RUNTIME_PACKAGE_MULTIARCH same)
set(CPACK_DEBIAN_NORN_RUNTIME_DESCRIPTION "asynchronous task graphs for HPC codes, shared library
norn runs the work of a C, C++ or Fortran code as an asynchronous task graph:
tasks are submitted, edges or the data they touch are declared, tokens are
awaited.

This package has the library that programs are linked with.")

set(CPACK_DEBIAN_NORN_DEVELOPMENT_PACKAGE_NAME libnorn-dev)
set(CPACK_DEBIAN_NORN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_NORN_DEVELOPMENT_PACKAGE_MULTIARCH same)
set(CPACK_DEBIAN_NORN_DEVELOPMENT_PACKAGE_DEPENDS "libc6-dev | libc-dev")
if(NORN_BUILD_SHARED)
  string(PREPEND CPACK_DEBIAN_NORN_DEVELOPMENT_PACKAGE_DEPENDS
    "${norn_runtime_package} (= ${norn_debian_version}), ")
endif()
set(CPACK_DEBIAN_NORN_DEVELOPMENT_DESCRIPTION "asynchronous task graphs for HPC codes, development files
norn runs the work of a C, C++ or Fortran code as an asynchronous task graph:
tasks are submitted, edges or the data they touch are declared, tokens are
awaited.

This package has the headers, the static library, and the files by which
CMake and pkg-config find norn.")

# A plug-in needs no MPI of its own: it serves the one that a program has loaded.
foreach(family IN LISTS norn_mpi_families)
  list(APPEND CPACK_COMPONENTS_ALL norn_mpi_${family})
  string(TOUPPER "NORN_MPI_${family}" COMPONENT)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME "${norn_runtime_package}-${family}")
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_MULTIARCH same)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_DEPENDS "${norn_runtime_package} (= ${norn_debian_version})")
  set(CPACK_DEBIAN_${COMPONENT}_DESCRIPTION "asynchronous task graphs for HPC codes, plug-in for ${family}
norn runs the work of a C, C++ or Fortran code as an asynchronous task graph:
tasks are submitted, edges or the data they touch are declared, tokens are
awaited.

This package has the plug-in through which programs that are linked with an
MPI of the family ${family} exchange messages as tasks.")
endforeach()

# Control files: which package and version a program that uses a function needs (from the version nodes in norn.map),
# and the trigger that runs ldconfig. CPack adds scripts that call it too, which older dpkg would need.
set(norn_debian_symbols "libnorn.so.${NORN_SOVERSION} ${norn_runtime_package} #MINVER#\n")
file(STRINGS cmake/norn.map norn_map REGEX "^NORN_[0-9.]+ |^ *norn_[a-z0-9_]+;")
foreach(line IN LISTS norn_map)
  if(line MATCHES "^NORN_([0-9.]+)")
    set(norn_node "${CMAKE_MATCH_1}")
    string(APPEND norn_debian_symbols " NORN_${norn_node}@NORN_${norn_node} ${norn_node}\n")
  endif()
  string(REGEX MATCHALL "norn_[a-z0-9_]+" norn_names "${line}")
  foreach(name IN LISTS norn_names)
    string(APPEND norn_debian_symbols " ${name}@NORN_${norn_node} ${norn_node}\n")
  endforeach()
endforeach()
set(norn_debian "${PROJECT_BINARY_DIR}/debian")
file(CONFIGURE OUTPUT "${norn_debian}/symbols" CONTENT "${norn_debian_symbols}" @ONLY)
file(CONFIGURE OUTPUT "${norn_debian}/shlibs"
  CONTENT "libnorn ${NORN_SOVERSION} ${norn_runtime_package} (>= ${PROJECT_VERSION})\n" @ONLY)
file(CONFIGURE OUTPUT "${norn_debian}/triggers" CONTENT "activate-noawait ldconfig\n" @ONLY)
file(CHMOD "${norn_debian}/symbols" "${norn_debian}/shlibs" "${norn_debian}/triggers"
  PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
set(CPACK_DEBIAN_NORN_RUNTIME_PACKAGE_CONTROL_EXTRA
  "${norn_debian}/symbols" "${norn_debian}/shlibs" "${norn_debian}/triggers")

# Each package has its licence where Debian wants it, instead of share/doc/norn; installed with its component only.
file(READ NOTICE norn_notice)
file(READ LICENSE-MIT norn_mit)
foreach(text notice mit)
  string(REGEX REPLACE "\n+$" "" norn_${text} "${norn_${text}}")
  string(REGEX REPLACE "\n(\n|$)" "\n.\n" norn_${text} "${norn_${text}}")
  string(REPLACE "\n" "\n " norn_${text} "${norn_${text}}")
endforeach()
configure_file(packaging/debian/copyright.in "${norn_debian}/copyright" @ONLY)
set(norn_debian_components runtime development)
foreach(family IN LISTS norn_mpi_families)
  list(APPEND norn_debian_components mpi_${family})
endforeach()
foreach(component IN LISTS norn_debian_components)
  string(TOUPPER "${component}" COMPONENT)
  install(FILES "${norn_debian}/copyright" COMPONENT norn_${component} EXCLUDE_FROM_ALL
    DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_DEBIAN_NORN_${COMPONENT}_PACKAGE_NAME}")
endforeach()

include(CPack)
