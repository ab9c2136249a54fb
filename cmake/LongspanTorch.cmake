# LibTorch: where Torch_DIR or CMAKE_PREFIX_PATH say, else the torch package of an interpreter: Python3_EXECUTABLE, then the
# one that set-up chose for this tree and its virtual environment .venv, which a project around us knows nothing of.
include(LongspanFindTorch)

# longspan_torch_of(RESULT INTERPRETER): the folder of TorchConfig.cmake in the torch package of INTERPRETER when that is of a
# version that serves, else "".
function(longspan_torch_of result interpreter)
  execute_process(
    COMMAND ${interpreter} -c "import importlib.metadata as m, importlib.util as u, os; \
print(os.path.join(os.path.dirname(u.find_spec('torch').origin), 'share/cmake/Torch'), m.version('torch'), sep='|')"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${result} "" PARENT_SCOPE)
  if(found MATCHES "^(.*)[|]([0-9.]+)" AND NOT CMAKE_MATCH_2 VERSION_LESS 2.11)
    set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  endif()
endfunction()

set(torch_of_python "")
if(NOT Torch_DIR)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  set(interpreters ${Python3_EXECUTABLE})
  if(EXISTS ${PROJECT_SOURCE_DIR}/build/setup/python)
    file(STRINGS ${PROJECT_SOURCE_DIR}/build/setup/python chosen LIMIT_COUNT 1)
    list(APPEND interpreters ${chosen})
  endif()
  list(APPEND interpreters ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  foreach(interpreter IN LISTS interpreters)
    if(NOT torch_of_python AND EXISTS "${interpreter}")
      longspan_torch_of(torch_of_python "${interpreter}")
    endif()
  endforeach()
endif()
longspan_find_torch("${torch_of_python}")
if(NOT Torch_FOUND)
  message(FATAL_ERROR "longspan needs LibTorch 2.11 or newer. `make setup` in ${PROJECT_SOURCE_DIR} gets it; or say where it is: "
    "-DTorch_DIR=<folder of TorchConfig.cmake>, -DCMAKE_PREFIX_PATH=<LibTorch>, or -DPython3_EXECUTABLE=<interpreter with "
    "torch>. -DLONGSPAN_TORCH=OFF builds the part without it, longspan::core")
endif()
if(Torch_VERSION VERSION_LESS 2.11)
  message(FATAL_ERROR "longspan needs LibTorch 2.11 or newer, found ${Torch_VERSION} in ${Torch_DIR}")
endif()
find_package(OpenMP REQUIRED COMPONENTS CXX)

add_library(longspan_torch INTERFACE)
target_include_directories(longspan_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(longspan_torch INTERFACE ${TORCH_LIBRARIES})
separate_arguments(LONGSPAN_TORCH_FLAGS UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(longspan_torch INTERFACE ${LONGSPAN_TORCH_FLAGS})
