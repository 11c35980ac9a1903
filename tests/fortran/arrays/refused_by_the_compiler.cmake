# What could only be a temporary, or may be kept in registers, does not compile: expressions, vector subscripts, arrays
# that are no targets, constants. The right forms do, so that the reason is the argument.
#   cmake -D COMPILER=... -D MODULES=... -D FOLDER=... -P refused_by_the_compiler.cmake
function(compile variable)
  set(calls "")
  foreach(argument IN LISTS ARGN)
    string(APPEND calls "  call norn_data_register(rt, ${argument}, d)\n")
  endforeach()
  file(WRITE "${FOLDER}/argument.f90" "subroutine argument(rt, plain, sized, explicit)
  use norn
  type(norn_runtime) :: rt
  type(norn_data) :: d
  real(8) :: plain(4)
  real(8), target :: sized(*), explicit(4), local(4, 4)
  integer :: ix(2) = [1, 3]
${calls}end subroutine
")
  execute_process(COMMAND "${COMPILER}" -fsyntax-only argument.f90 -I "${MODULES}" WORKING_DIRECTORY "${FOLDER}"
    RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  set(${variable} "${status}" PARENT_SCOPE)
  set(out "${out}" PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY "${FOLDER}")
compile(status explicit local "local(:, 2)" "sized(1:4)" "explicit(2)")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the right arguments do not compile:\n${out}")
endif()
foreach(wrong "(explicit)" "explicit + 1" "explicit(ix)" plain 5d0 "[1d0, 2d0]" "sqrt(explicit)")
  compile(status "${wrong}")
  if(status EQUAL 0)
    message(SEND_ERROR "${wrong} compiles")
  endif()
endforeach()
