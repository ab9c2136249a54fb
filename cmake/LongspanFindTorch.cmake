# longspan_find_torch(DIR): find_package(Torch), for the build and for the installed package alike. DIR is the folder of
# TorchConfig.cmake to take when neither Torch_DIR nor CMAKE_PREFIX_PATH leads to one. Sets Torch_FOUND, Torch_VERSION,
# TORCH_INCLUDE_DIRS, TORCH_LIBRARIES and TORCH_CXX_FLAGS.
#
# The CMake package of a CUDA wheel insists on a CUDA compiler, which nothing here needs: where there is none, the wheel's
# libraries are named directly.
macro(longspan_find_torch dir)
  if(NOT Torch_DIR)
    find_path(longspan_torch_dir TorchConfig.cmake PATHS ${CMAKE_PREFIX_PATH} "${dir}"
      PATH_SUFFIXES share/cmake/Torch Torch NO_DEFAULT_PATH NO_CACHE)
    if(longspan_torch_dir)
      set(Torch_DIR "${longspan_torch_dir}" CACHE PATH "Folder of TorchConfig.cmake")
    endif()
  endif()
  get_filename_component(longspan_torch_root "${Torch_DIR}/../../.." ABSOLUTE)
  if(EXISTS "${longspan_torch_root}/lib/libtorch_cuda.so")
    find_package(CUDAToolkit QUIET)
  endif()
  if(EXISTS "${longspan_torch_root}/lib/libtorch_cuda.so" AND NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(TORCH_INCLUDE_DIRS "${longspan_torch_root}/include" "${longspan_torch_root}/include/torch/csrc/api/include")
    file(STRINGS "${Torch_DIR}/TorchConfigVersion.cmake" Torch_VERSION REGEX "^set\\(PACKAGE_VERSION ")
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" Torch_VERSION "${Torch_VERSION}")
    set(TORCH_LIBRARIES "")
    foreach(longspan_torch_library IN ITEMS torch torch_cpu c10)
      list(APPEND TORCH_LIBRARIES "${longspan_torch_root}/lib/lib${longspan_torch_library}.so")
    endforeach()
    set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=1")
    set(Torch_FOUND TRUE)
  else()
    find_package(Torch QUIET)
  endif()
endmacro()
