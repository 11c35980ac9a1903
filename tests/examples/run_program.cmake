# A program ends with 0 and prints just what is expected: a regular expression, or what another program prints.
#   cmake -D PROGRAM=... (-D EXPECTED=... | -D REFERENCE=...) -P run_program.cmake
function(run program variable)
  execute_process(COMMAND "${program}" OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${program} ended with ${status}:\n${out}${err}")
  endif()
  set(${variable} "${out}" PARENT_SCOPE)
endfunction()

run("${PROGRAM}" printed)
if(DEFINED REFERENCE)
  run("${REFERENCE}" wanted)
  if(NOT printed STREQUAL wanted)
    message(FATAL_ERROR "${PROGRAM} printed:\n${printed}and ${REFERENCE}:\n${wanted}")
  endif()
elseif(NOT printed MATCHES "${EXPECTED}")
  message(FATAL_ERROR "${PROGRAM} printed:\n${printed}expected: ${EXPECTED}")
endif()
