// sentencepiece_functions(): finds and loads the module.
#include <dlfcn.h>

#include <string>
#include <vector>

#include "longspan/base/check.h"
#include "longspan/text/sentencepiece_module.h"

namespace longspan {

namespace {

// Before all others, also those of the program: see sentencepiece_module.h. The sanitizers do not allow it.
#if defined(RTLD_DEEPBIND) && !defined(LONGSPAN_SANITIZED)
constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#else
constexpr int kFlags = RTLD_NOW | RTLD_LOCAL;
#endif

/// Folder of the library or program that holds this function, with a slash; "" when the system does not say.
std::string own_folder() {
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<const void*>(&sentencepiece_functions), &info) == 0 || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

const SentencePieceFunctions& load_functions() {
  const std::string name = LONGSPAN_SENTENCEPIECE_MODULE, folder = own_folder();
  std::vector<std::string> places = {name};
  if (!folder.empty()) places = {folder + name, folder + "../lib/" + name, name};
  std::string reason;
  for (const std::string& place : places) {
    if (void* module = ::dlopen(place.c_str(), kFlags))
      if (void* symbol = ::dlsym(module, kSentencePieceSymbol))
        return *reinterpret_cast<const SentencePieceFunctions* (*)()>(symbol)();
    const char* error = ::dlerror();
    if (reason.empty() && error) reason = error;
  }
  throw RunError(str_cat("tokenizer sentencepiece: cannot load ", name, ": ", reason));
}

}  // namespace

const SentencePieceFunctions& sentencepiece_functions() {
  static const SentencePieceFunctions& functions = load_functions();
  return functions;
}

}  // namespace longspan
