# norn::cxx: the C++ layer, headers only, over norn::norn. Installed beside norn.h.
add_library(norn_cxx INTERFACE)
add_library(norn::cxx ALIAS norn_cxx)
set_target_properties(norn_cxx PROPERTIES EXPORT_NAME cxx)
target_compile_features(norn_cxx INTERFACE cxx_std_17)
target_include_directories(norn_cxx INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/bindings/cpp>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
if(NORN_BUILD_SHARED)
  target_link_libraries(norn_cxx INTERFACE norn)
else()
  target_link_libraries(norn_cxx INTERFACE norn_static)
endif()
list(APPEND norn_targets norn_cxx)
if(NORN_INSTALL)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/bindings/cpp/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")
endif()
