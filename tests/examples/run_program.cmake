# A program ends with 0 and prints just what is expected (a regular expression):
#   cmake -D PROGRAM=... -D EXPECTED=... -P run_program.cmake
execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT out MATCHES "${EXPECTED}")
  message(FATAL_ERROR "${PROGRAM} ended with ${status}; expected \"${EXPECTED}\", it printed:\n${out}${err}")
endif()
