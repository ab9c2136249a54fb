# Helpers for the folders of longspan/: a layer is an object library of the one shared library.

# longspan_layer(NAME [TORCH] SOURCES ... HEADERS ... DEPENDS ...)
# Adds the object library longspan_NAME. TORCH: it uses LibTorch and is left out of the torch-free part.
function(longspan_layer name)
  cmake_parse_arguments(LAYER "TORCH" "" "SOURCES;HEADERS;DEPENDS" ${ARGN})
  string(REPLACE "/" "_" target "longspan_${name}")
  if(LAYER_TORCH AND NOT LONGSPAN_TORCH)
    return()
  endif()
  add_library(${target} OBJECT ${LAYER_SOURCES})
  target_link_libraries(${target} PUBLIC longspan_flags ${LAYER_DEPENDS})
  if(LAYER_TORCH)
    target_link_libraries(${target} PUBLIC longspan_torch)
    longspan_unity(${target})
    set_property(GLOBAL APPEND PROPERTY LONGSPAN_TORCH_LAYERS ${target})
  else()
    set_property(GLOBAL APPEND PROPERTY LONGSPAN_CORE_LAYERS ${target})
  endif()
  foreach(header IN LISTS LAYER_HEADERS)
    cmake_path(ABSOLUTE_PATH header)
    set_property(GLOBAL APPEND PROPERTY LONGSPAN_PUBLIC_HEADERS ${header})
  endforeach()
endfunction()

# longspan_test(NAME SOURCES ... [LIBS ...] [LABELS ...] [PER_TARGET])
# A GoogleTest program under ctest, with the label cpp; the target cpp_tests builds all of them. PER_TARGET registers it
# once for every SIMD target, forced by LONGSPAN_SIMD; a target that the machine lacks is skipped. Such a program needs
# longspan_simd and has the main of tests/per_target_main.cc.
function(longspan_test name)
  if(NOT LONGSPAN_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(TEST "PER_TARGET" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LIBS} longspan_flags GTest::gtest GTest::gmock)
  if(NOT TARGET cpp_tests)
    add_custom_target(cpp_tests)
  endif()
  add_dependencies(cpp_tests ${name} longspan_sentencepiece)  # the module is loaded, not linked
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 600)
  endif()
  if(LONGSPAN_SANITIZE)
    math(EXPR TEST_TIMEOUT "4 * ${TEST_TIMEOUT}")
  endif()
  if(TEST_PER_TARGET)
    target_sources(${name} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../tests/per_target_main.cc)
    foreach(simd IN LISTS LONGSPAN_SIMD_TARGETS)
      add_test(NAME ${name}.${simd} COMMAND ${name})
      set_tests_properties(${name}.${simd} PROPERTIES ENVIRONMENT "LONGSPAN_SIMD=${simd}" TIMEOUT ${TEST_TIMEOUT}
        LABELS "${TEST_LABELS};cpp;per_target" SKIP_RETURN_CODE 77)
    endforeach()
  else()
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS};cpp")
  endif()
  # LibTorch keeps memory until the process ends, and its libraries are not built for the sanitizers: what they hold is
  # not ours to report.
  set(torch_libs "(^|;)longspan(::longspan|_testing_properties)?(;|$)")
  if(LONGSPAN_SANITIZE MATCHES "address" AND "${TEST_LIBS}" MATCHES "${torch_libs}")
    set_tests_properties(${name} PROPERTIES ENVIRONMENT_MODIFICATION "ASAN_OPTIONS=string_append::detect_leaks=0")
  endif()
endfunction()

# longspan_unity(TARGET)
# Compiles several files of a target as one. In every file that includes them LibTorch's headers have the compiler
# instantiate the same templates for seconds, precompiled or not.
function(longspan_unity target)
  if(LONGSPAN_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# longspan_reuse_pch(TARGET)
# Lets a program use the precompiled header of nn. That one was made with -fPIC, and the compiler takes it only with the
# same flag: CMake's -fPIE for programs would have every file parse LibTorch's headers anew.
function(longspan_reuse_pch target)
  target_precompile_headers(${target} REUSE_FROM longspan_nn)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  longspan_unity(${target})
endfunction()
