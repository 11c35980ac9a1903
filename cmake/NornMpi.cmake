# The plug-ins through which libnorn calls MPI, one for each family of MPIs. A
# plug-in is compiled by the mpicc of its MPI and linked without MPI: at run time
# its calls are bound to the MPI that the program has loaded. norn itself is the
# same with and without them.

set(NORN_MPICC "AUTO" CACHE STRING
  "Compiler wrappers (mpicc) of the MPIs to build plug-ins for: a list of paths; AUTO: those that are found; OFF: none")

set(norn_plugin_dir "${PROJECT_SOURCE_DIR}/src/lower/mpi/plugin")
set(norn_mpi_families)

# Sets `family` in the caller: "openmpi", "mpich", "abi", "other"; empty when the wrapper does not work.
function(norn_mpi_family mpicc)
  set(probe "${CMAKE_CURRENT_BINARY_DIR}/norn_mpi_family.c")
  file(CONFIGURE OUTPUT "${probe}" CONTENT "#include <mpi.h>\n#include \"this_mpi.h\"\nnorn_family FAMILY\n" @ONLY)
  execute_process(COMMAND "${mpicc}" -E "-I${norn_plugin_dir}" "${probe}"
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE reason)
  set(family "" PARENT_SCOPE)
  if(status EQUAL 0 AND text MATCHES "norn_family \"([a-z]+)\"")
    set(family "${CMAKE_MATCH_1}" PARENT_SCOPE)
  endif()
  set(reason "${reason}" PARENT_SCOPE)
endfunction()

if(NORN_MPICC STREQUAL "AUTO")
  # Debian has the two side by side under these names; `mpicc` is one of them, or the only one.
  set(norn_mpiccs)
  foreach(name mpicc.openmpi mpicc.mpich mpicc_abi mpicc)
    find_program(NORN_FOUND_${name} "${name}" DOC "Found for NORN_MPICC=AUTO")
    mark_as_advanced(NORN_FOUND_${name})
    if(NORN_FOUND_${name})
      list(APPEND norn_mpiccs "${NORN_FOUND_${name}}")
    endif()
  endforeach()
elseif(NORN_MPICC)
  set(norn_mpiccs "${NORN_MPICC}")
else()
  set(norn_mpiccs)
endif()

foreach(mpicc IN LISTS norn_mpiccs)
  norn_mpi_family("${mpicc}")
  if(family STREQUAL "")
    if(NORN_MPICC STREQUAL "AUTO")
      message(STATUS "norn: ${mpicc} does not work, so there is no plug-in for its MPI")
      continue()
    endif()
    message(FATAL_ERROR "norn: ${mpicc}, of NORN_MPICC, cannot compile a program that includes mpi.h:\n${reason}")
  endif()
  if(family IN_LIST norn_mpi_families)
    if(NOT NORN_MPICC STREQUAL "AUTO")
      message(STATUS "norn: ${mpicc} is a second MPI of the family ${family}; one plug-in serves both")
    endif()
    continue()
  endif()
  message(STATUS "norn: MPI plug-in for ${family} with ${mpicc}")
  list(APPEND norn_mpi_families "${family}")

  set(object "${CMAKE_CURRENT_BINARY_DIR}/norn_mpi_${family}.o")
  file(GLOB norn_plugin_sources CONFIGURE_DEPENDS "${norn_plugin_dir}/*.[ch]")
  add_custom_command(
    OUTPUT "${object}"
    COMMAND "${mpicc}" -c -std=gnu11 -O2 -fPIC -fvisibility=hidden "-I${PROJECT_SOURCE_DIR}/include" "-I${norn_plugin_dir}"
      "${norn_plugin_dir}/plugin.c" -o "${object}"
    DEPENDS ${norn_plugin_sources} "${PROJECT_SOURCE_DIR}/include/norn.h"
    COMMENT "Compiling the MPI plug-in for ${family}"
    VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(target norn_mpi_${family})
  add_library(${target} MODULE "${object}")
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME "${target}"
    PREFIX lib
    SUFFIX .so
    DEBUG_POSTFIX ""
    LINKER_LANGUAGE C
    SKIP_BUILD_RPATH ON
    INSTALL_RPATH ""
    INSTALL_RPATH_USE_LINK_PATH OFF
    INTERPROCEDURAL_OPTIMIZATION OFF)
  # MPI's symbols are left open, whatever the distribution's own flags say.
  target_link_options(${target} PRIVATE "LINKER:-z,undefs" "LINKER:-z,relro,-z,now")
  if(NORN_INSTALL)
    # Beside libnorn, where it looks for them.
    install(TARGETS ${target} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT norn_mpi_${family})
  endif()
endforeach()

if(NORN_INSTALL)
  # For an MPI that is not here: compiled by hand as plugin.c says, and for programs that are linked statically.
  install(DIRECTORY "${norn_plugin_dir}/" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/norn/mpi_plugin"
    FILES_MATCHING PATTERN "*.c" PATTERN "*.h" PATTERN "crate" EXCLUDE)
endif()
