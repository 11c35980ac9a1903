# The Fortran module, compiled for the compiler of the project that uses it: module files of one compiler, or of another
# version of it, are no use to the next, so norn installs the sources.
#
#   find_package(norn COMPONENTS Fortran)     defines norn::norn_fortran
#   norn_add_fortran(<target>)                makes a static library of that name, for a project that installs it with
#                                             itself, compiles it with flags of its own, or has added norn as a subdirectory
#
# The module files are in a folder of their own, in the include directories of the target. Flags that change kinds
# (-fdefault-integer-8, -fdefault-real-8) must be those of the rest; CMAKE_Fortran_FLAGS reach it.

# Names without .f90, each after those it uses.
function(norn_fortran_files variable)
  set(${variable} norn_c norn_failure_policy norn_memory_of norn_accesses norn_contained norn_data_calls
    norn_array_calls norn_task_calls norn_token_calls norn_runtime_calls norn_operation_how
    norn_world_calls norn_device_calls norn PARENT_SCOPE)
endfunction()

function(norn_add_fortran target)
  if(NOT CMAKE_Fortran_COMPILER_LOADED)
    message(FATAL_ERROR "norn_add_fortran: enable the language first, with project(name LANGUAGES Fortran)")
  endif()
  norn_fortran_files(files)
  list(TRANSFORM files REPLACE "(.+)" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/fortran/\\1.f90")
  add_library(${target} STATIC ${files})
  set(modules "${CMAKE_CURRENT_BINARY_DIR}/${target}_modules")
  set_target_properties(${target} PROPERTIES
    Fortran_MODULE_DIRECTORY "${modules}"
    Fortran_PREPROCESS OFF
    POSITION_INDEPENDENT_CODE ON
    LINKER_LANGUAGE Fortran)
  # It runs on several threads at once: no local variable may be static.
  target_compile_options(${target} PRIVATE "$<$<Fortran_COMPILER_ID:GNU>:-frecursive>")
  target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${modules}>")
  target_link_libraries(${target} PUBLIC norn::norn)
endfunction()

if("Fortran" IN_LIST norn_FIND_COMPONENTS AND NOT TARGET norn::norn_fortran)
  norn_add_fortran(norn_fortran)
  add_library(norn::norn_fortran ALIAS norn_fortran)
endif()
