#include "longspan/train/nonfinite.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/isfinite.h>
#include <ATen/record_function.h>

#include <map>

#include "longspan/base/check.h"

namespace longspan::train {

namespace {

bool is_finite(const at::Tensor& tensor) {
  return !tensor.defined() || !(tensor.is_floating_point() || tensor.is_complex()) || tensor.numel() == 0 ||
         at::isfinite(tensor).all().item<bool>();
}

template <class Visit>
void each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
  }
}

const void* memory_of(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() ? tensor.storage().data() : nullptr;
}

/// What an operator does with memory, as far as a look at its result needs to know.
enum class Kind {
  computes,
  views,     ///< its result is memory that another operator may not have written yet
  allocates  ///< its result is not written yet
};

Kind kind_of(const at::RecordFunction& function) {
  const auto name = function.operator_name();
  if (!name) return Kind::views;  // a node of the graph, or a mark: the operators inside are seen on their own
  if (name->name.find("empty") != std::string::npos || name->name.find("resize") != std::string::npos)
    return Kind::allocates;
  const auto handle = c10::Dispatcher::singleton().findSchema(*name);
  if (handle)
    for (const auto& result : handle->schema().returns())
      if (result.alias_info() && !result.alias_info()->isWrite()) return Kind::views;
  return Kind::computes;
}

class Watch {
 public:
  explicit Watch(const models::NamedTensors& weights) {
    for (const auto& [name, tensor] : weights) names_[memory_of(tensor)] = name;
    current_ = this;
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&Watch::on_start, &Watch::on_end)
                                             .needsInputs(true)
                                             .needsOutputs(true)
                                             .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  }
  ~Watch() {
    at::removeCallback(handle_);
    current_ = nullptr;
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  bool found() const { return !op_.empty(); }
  void tell(NonFiniteOrigin& origin) const {
    origin.op = op_;
    origin.module = weight_.substr(0, weight_.rfind('.') == std::string::npos ? weight_.size() : weight_.rfind('.'));
    origin.backward = backward_;
  }

 private:
  static std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
    if (current_ && !current_->found()) current_->start(function);
    return nullptr;
  }
  static void on_end(const at::RecordFunction& function, at::ObserverContext*) {
    if (current_ && !current_->found()) current_->end(function);
  }

  void start(const at::RecordFunction& function) {
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) backward_ = true;
    for (const c10::IValue& input : function.inputs())
      each_tensor(input, [&](const at::Tensor& tensor) {
        if (const auto at = names_.find(memory_of(tensor)); at != names_.end()) weight_ = at->second;
      });
  }

  void end(const at::RecordFunction& function) {
    if (kind_of(function) != Kind::computes) return;
    const at::DisableRecordFunctionGuard unseen;
    for (const c10::IValue& output : function.outputs())
      each_tensor(output, [&](const at::Tensor& tensor) {
        if (!found() && !is_finite(tensor)) op_ = function.name();
      });
  }

  static thread_local Watch* current_;

  at::CallbackHandle handle_ = 0;
  std::map<const void*, std::string> names_;  ///< weights by where they lie
  std::string op_, weight_;
  bool backward_ = false;
};

thread_local Watch* Watch::current_ = nullptr;

}  // namespace

NonFiniteOrigin find_nonfinite(const models::NamedTensors& weights, const std::function<void()>& computation) {
  NonFiniteOrigin origin;
  for (const auto& [name, tensor] : weights)
    if (!is_finite(tensor.detach())) origin.weights.push_back(name);
  const Watch watch(weights);
  try {
    computation();
  } catch (const Error&) {
    if (!watch.found()) throw;
  }
  watch.tell(origin);
  return origin;
}

Json to_json(const NonFiniteOrigin& origin) {
  const auto known = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {{"weights", origin.weights},
          {"operator", known(origin.op)},
          {"module", known(origin.op.empty() ? "" : origin.module)},
          {"pass", origin.op.empty() ? Json() : Json(origin.backward ? "backward" : "forward")}};
}

std::string to_text(const NonFiniteOrigin& origin) {
  std::string text;
  if (!origin.weights.empty())
    text = str_cat(origin.weights.front(), " is not finite before the step",
                   origin.weights.size() > 1 ? str_cat(", nor are ", origin.weights.size() - 1, " other weights") : "");
  if (origin.op.empty()) return text;
  return str_cat(text, text.empty() ? "" : "; ", "first in the ", origin.backward ? "backward" : "forward", " pass at ",
                 origin.op, origin.module.empty() ? "" : " near " + origin.module);
}

}  // namespace longspan::train
