# A program ends with 0 and prints just what is expected: a regular expression, or what another program prints.
#   cmake [-D LAUNCHER=...] -D PROGRAM=... [-D ARGUMENTS=...] (-D EXPECTED=... | -D REFERENCE=...) -P run_program.cmake
# LAUNCHER, such as mpiexec;-n;2, and ARGUMENTS are lists, and are not for REFERENCE.
function(run variable program)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${program} ended with ${status}:\n${out}${err}")
  endif()
  set(${variable} "${out}" PARENT_SCOPE)
endfunction()

run(printed "${PROGRAM}" ${LAUNCHER} "${PROGRAM}" ${ARGUMENTS})
if(DEFINED REFERENCE)
  run(wanted "${REFERENCE}" "${REFERENCE}")
  if(NOT printed STREQUAL wanted)
    message(FATAL_ERROR "${PROGRAM} printed:\n${printed}and ${REFERENCE}:\n${wanted}")
  endif()
elseif(NOT printed MATCHES "${EXPECTED}")
  message(FATAL_ERROR "${PROGRAM} printed:\n${printed}expected: ${EXPECTED}")
endif()
