# The package norn for C tests under a sanitizer: a shared library that was built with -Zsanitizer, and
# Rust's own runtime of that sanitizer, which fits the code that rustc made; clang's may be older.
foreach(needed NORN_SANITIZER NORN_SANITIZER_RUNTIME NORN_SANITIZED_LIBRARY)
  if(NOT ${needed})
    message(FATAL_ERROR "norn under a sanitizer: ${needed} is not set; tests/sanitizers/run.sh sets it")
  endif()
endforeach()
if(NOT TARGET norn::norn)
  get_filename_component(norn_root "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
  add_library(norn::norn SHARED IMPORTED GLOBAL)
  set_target_properties(norn::norn PROPERTIES
    IMPORTED_LOCATION "${NORN_SANITIZED_LIBRARY}"
    IMPORTED_NO_SONAME ON
    INTERFACE_INCLUDE_DIRECTORIES "${norn_root}/include"
    INTERFACE_COMPILE_OPTIONS "-fsanitize=${NORN_SANITIZER};-fno-omit-frame-pointer;-g;-O1"
    # All of the runtime: nothing calls its interceptors by name.
    INTERFACE_LINK_OPTIONS "LINKER:--whole-archive,${NORN_SANITIZER_RUNTIME},--no-whole-archive"
    INTERFACE_LINK_LIBRARIES "pthread;dl;m")
endif()
set(norn_FOUND TRUE)
