# Install rules: headers, libraries, program and the CMake package `longspan` with the targets longspan::longspan (everything)
# and longspan::core (the part free of LibTorch; find_package(longspan COMPONENTS core) asks for it alone).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/longspan)

get_property(public_headers GLOBAL PROPERTY LONGSPAN_PUBLIC_HEADERS)
foreach(header IN LISTS public_headers)
  cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE relative)
  cmake_path(GET relative PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()

# Libraries beside the program are found wherever the prefix is moved to; LibTorch where it was at build time.
# (CMake's link path would leave out a LibTorch inside the source folder, where set-up makes .venv.)
if(LONGSPAN_TORCH)
  find_library(LONGSPAN_TORCH_CPU torch_cpu PATHS ${TORCH_INSTALL_PREFIX}/lib ${longspan_torch_root}/lib NO_DEFAULT_PATH REQUIRED)
  cmake_path(GET LONGSPAN_TORCH_CPU PARENT_PATH longspan_torch_libraries)
endif()
file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(TARGETS longspan_core EXPORT longspanCoreTargets)
install(TARGETS longspan_sentencepiece LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT longspanCoreTargets NAMESPACE longspan:: DESTINATION ${package_dir})

if(LONGSPAN_TORCH)
  set_target_properties(longspan PROPERTIES INSTALL_RPATH "$ORIGIN;${longspan_torch_libraries}")
  install(TARGETS longspan EXPORT longspanTargets)
  if(TARGET longspan_testing_properties)
    # The property harness, for attentions of the user's own: longspan::testing_properties.
    install(TARGETS longspan_testing longspan_testing_properties EXPORT longspanTargets)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/longspan/testing DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/longspan
      FILES_MATCHING PATTERN "*.h")
  endif()
  install(EXPORT longspanTargets NAMESPACE longspan:: DESTINATION ${package_dir})
endif()

if(TARGET longspan_program)
  set_target_properties(longspan_program PROPERTIES
    INSTALL_RPATH "$ORIGIN/${bin_to_lib};${longspan_torch_libraries}")
  install(TARGETS longspan_program)
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/longspanConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/longspanConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/longspanConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/longspanConfig.cmake ${PROJECT_BINARY_DIR}/cmake/longspanConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/LongspanFindTorch.cmake ${CMAKE_CURRENT_LIST_DIR}/FindPcre2.cmake
  ${CMAKE_CURRENT_LIST_DIR}/FindZstd.cmake
  DESTINATION ${package_dir})
