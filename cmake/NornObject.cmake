# norn.o: everything of norn, Rust's standard library included, in one
# relocatable object in which only the C API is global. Two Rust libraries can
# then be linked into one program, and both libraries are made of the same code.
#
# Sets NORN_OBJECT, and makes the target norn_object that builds it.

find_program(NORN_CARGO NAMES "$ENV{CARGO}" cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin"
  DOC "The cargo to build norn with")
if(NOT NORN_CARGO)
  file(STRINGS Cargo.toml norn_oldest_rust REGEX "^rust-version = ")
  string(REGEX REPLACE "^rust-version = \"(.*)\"$" "\\1" norn_oldest_rust "${norn_oldest_rust}")
  message(FATAL_ERROR "norn: cargo was not found. Install Rust ${norn_oldest_rust} or newer (https://rustup.rs, or "
    "the distribution's cargo), or set NORN_CARGO to its path.")
endif()
if(NOT CMAKE_OBJCOPY OR NOT CMAKE_LINKER)
  message(FATAL_ERROR "norn: ld and objcopy (GNU binutils) were not found")
endif()

# An explicit target makes the place of the result independent of build.target
# in cargo's configuration.
if(NOT DEFINED NORN_RUST_TARGET)
  execute_process(COMMAND "${NORN_CARGO}" -vV WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    OUTPUT_VARIABLE norn_cargo_about RESULT_VARIABLE norn_cargo_status)
  if(NOT norn_cargo_status EQUAL 0 OR NOT norn_cargo_about MATCHES "host: ([^\n]+)")
    message(FATAL_ERROR "norn: `${NORN_CARGO} -vV` failed; is a Rust toolchain installed?")
  endif()
  set(NORN_RUST_TARGET "${CMAKE_MATCH_1}" CACHE STRING "Rust target triple")
endif()

set(norn_default_target_dir "${PROJECT_BINARY_DIR}/cargo")
if(NOT "$ENV{CARGO_TARGET_DIR}" STREQUAL "")
  get_filename_component(norn_default_target_dir "$ENV{CARGO_TARGET_DIR}" ABSOLUTE BASE_DIR "${PROJECT_SOURCE_DIR}")
endif()
set(NORN_CARGO_TARGET_DIR "${norn_default_target_dir}" CACHE PATH "Where cargo builds norn")
set(norn_archive "${NORN_CARGO_TARGET_DIR}/${NORN_RUST_TARGET}/release/libnorn.a")

# The version script is the list of what is exported: from it the roots of the
# link and the symbols that stay global.
file(STRINGS "${PROJECT_SOURCE_DIR}/cmake/norn.map" norn_exports REGEX "^ *norn_[a-z0-9_]+;")
list(TRANSFORM norn_exports REPLACE "^ *(norn_[a-z0-9_]+);.*" "\\1")
list(JOIN norn_exports "\n" norn_global)
list(TRANSFORM norn_exports PREPEND "--undefined=")
list(JOIN norn_exports "\n" norn_roots)
file(CONFIGURE OUTPUT norn.global CONTENT "@norn_global@\n" @ONLY)
file(CONFIGURE OUTPUT norn.roots CONTENT "@norn_roots@\n" @ONLY)

file(GLOB_RECURSE norn_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.rs")
set(norn_manifests "${PROJECT_SOURCE_DIR}/Cargo.toml" "${PROJECT_SOURCE_DIR}/Cargo.lock")

set(NORN_OBJECT "${CMAKE_CURRENT_BINARY_DIR}/norn.o")
add_custom_command(
  OUTPUT "${NORN_OBJECT}"
  # The one crate type on the command line: beside an rlib, cargo leaves out the
  # link-time optimisation that the profile asks for, without a word.
  # In the source folder, where cargo looks for its configuration (vendored
  # crates) and rustup for a toolchain file.
  COMMAND "${CMAKE_COMMAND}" -E chdir "${PROJECT_SOURCE_DIR}" "${NORN_CARGO}" rustc --release --locked
    --lib --crate-type staticlib --target "${NORN_RUST_TARGET}" --target-dir "${NORN_CARGO_TARGET_DIR}"
  # A section group that two Rust libraries share would be taken from one of
  # them only, and the other could then not reach its own, localised copy.
  COMMAND "${CMAKE_LINKER}" -r --force-group-allocation -o norn.all.o "@norn.roots" "${norn_archive}"
  # Without link-time optimisation rustc leaves bitcode in the objects, which an
  # LLVM plug-in of another version in ar or nm would stumble over.
  COMMAND "${CMAKE_OBJCOPY}" --keep-global-symbols=norn.global --remove-section=.llvmbc --remove-section=.llvmcmd
    norn.all.o "${NORN_OBJECT}"
  COMMAND "${CMAKE_COMMAND}" -E rm -f norn.all.o
  DEPENDS ${norn_sources} ${norn_manifests} "${CMAKE_CURRENT_BINARY_DIR}/norn.global"
  WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
  COMMENT "Building norn with cargo"
  VERBATIM)
set_source_files_properties("${NORN_OBJECT}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
# Both libraries wait for this target, so that a parallel make runs the command once.
add_custom_target(norn_object DEPENDS "${NORN_OBJECT}")
