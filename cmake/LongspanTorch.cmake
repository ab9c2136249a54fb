# LibTorch: where Torch_DIR or CMAKE_PREFIX_PATH say, else the torch package of Python3_EXECUTABLE (the virtual environment
# that set-up makes, or an installed one).
include(LongspanFindTorch)
set(torch_of_python "")
if(NOT Torch_DIR)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_Interpreter_FOUND)
    execute_process(
      COMMAND ${Python3_EXECUTABLE} -c "import importlib.util as u, os; \
print(os.path.join(os.path.dirname(u.find_spec('torch').origin), 'share/cmake/Torch'))"
      OUTPUT_VARIABLE torch_of_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
longspan_find_torch("${torch_of_python}")
if(NOT Torch_FOUND)
  message(FATAL_ERROR "longspan needs LibTorch: `make build` sets it up; by hand, give -DPython3_EXECUTABLE= an interpreter with "
    "torch 2.11 or newer, -DTorch_DIR= the folder of TorchConfig.cmake, or -DLONGSPAN_TORCH=OFF for the part without it")
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
