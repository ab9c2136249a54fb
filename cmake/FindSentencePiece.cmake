# The library SentencePiece, which has no CMake package of its own: the target SentencePiece::SentencePiece (encoding and
# decoding) and, where it is installed, SentencePiece::Train.
include(FindPackageHandleStandardArgs)

find_path(SentencePiece_INCLUDE_DIR sentencepiece_processor.h)
find_library(SentencePiece_LIBRARY sentencepiece)
find_library(SentencePiece_TRAIN_LIBRARY sentencepiece_train)
mark_as_advanced(SentencePiece_INCLUDE_DIR SentencePiece_LIBRARY SentencePiece_TRAIN_LIBRARY)
find_package_handle_standard_args(SentencePiece REQUIRED_VARS SentencePiece_LIBRARY SentencePiece_INCLUDE_DIR)

if(SentencePiece_FOUND AND NOT TARGET SentencePiece::SentencePiece)
  add_library(SentencePiece::SentencePiece UNKNOWN IMPORTED)
  set_target_properties(SentencePiece::SentencePiece PROPERTIES
    IMPORTED_LOCATION "${SentencePiece_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${SentencePiece_INCLUDE_DIR}")
  if(SentencePiece_TRAIN_LIBRARY)
    add_library(SentencePiece::Train UNKNOWN IMPORTED)
    set_target_properties(SentencePiece::Train PROPERTIES
      IMPORTED_LOCATION "${SentencePiece_TRAIN_LIBRARY}" INTERFACE_LINK_LIBRARIES SentencePiece::SentencePiece)
  endif()
endif()
