#include "longspan/models/recompute.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mutex>
#include <utility>

namespace longspan::models {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Sets autocast for one device while it lives, with a cache of casts that nobody else sees.
class AutocastScope {
 public:
  AutocastScope(at::DeviceType device, bool enabled, at::ScalarType dtype, bool cache)
      : device_(device),
        enabled_(at::autocast::is_autocast_enabled(device)),
        dtype_(at::autocast::get_autocast_dtype(device)),
        cache_(at::autocast::is_autocast_cache_enabled()) {
    // Casts that a caller's scope made belong to other graphs, or to none.
    at::autocast::clear_cache();
    at::autocast::increment_nesting();
    at::autocast::set_autocast_enabled(device, enabled);
    at::autocast::set_autocast_dtype(device, dtype);
    at::autocast::set_autocast_cache_enabled(cache);
  }
  ~AutocastScope() {
    at::autocast::clear_cache();
    at::autocast::decrement_nesting();
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
    at::autocast::set_autocast_cache_enabled(cache_);
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  at::DeviceType device_;
  bool enabled_;
  at::ScalarType dtype_;
  bool cache_;
};

/// The states of the generators that a call may draw from.
class Generators {
 public:
  explicit Generators(const std::vector<at::Device>& devices) {
    for (const at::Device& device : devices) {
      at::Generator generator = at::globalContext().defaultGenerator(device);
      const std::lock_guard<std::mutex> lock(generator.mutex());
      states_.emplace_back(generator, generator.get_state());
    }
  }
  void restore() const {
    for (auto [generator, state] : states_) {
      const std::lock_guard<std::mutex> lock(generator.mutex());
      generator.set_state(state);
    }
  }

 private:
  std::vector<std::pair<at::Generator, at::Tensor>> states_;
};

/// Puts the generators back as they are now.
class GeneratorScope {
 public:
  explicit GeneratorScope(const std::vector<at::Device>& devices) : before_(devices) {}
  ~GeneratorScope() { before_.restore(); }
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  Generators before_;
};

/// What the second call needs of the first one, besides tensors.
struct Call : torch::CustomClassHolder {
  Body body;
  std::size_t inputs = 0;
  std::vector<at::Device> devices;  // whose generators the body may draw from
  Generators generators;
  at::DeviceType autocast_device;
  bool autocast;
  at::ScalarType autocast_dtype;

  Call(Body from, const std::vector<at::Tensor>& tensors)
      : body(std::move(from)),
        inputs(tensors.size()),
        devices(drawn_from(home(tensors))),
        generators(devices),
        autocast_device(home(tensors).type()),
        autocast(at::autocast::is_autocast_enabled(autocast_device)),
        autocast_dtype(at::autocast::get_autocast_dtype(autocast_device)) {}

  static std::vector<at::Device> drawn_from(const at::Device& device) {
    if (device.is_cpu()) return {device};
    return {at::Device(at::kCPU), device};
  }
  static at::Device home(const std::vector<at::Tensor>& tensors) {
    return tensors.empty() ? at::Device(at::kCPU) : tensors.front().device();
  }
};

struct Recomputed : torch::autograd::Function<Recomputed> {
  static variable_list forward(AutogradContext* context, const c10::intrusive_ptr<Call>& call, at::TensorList tensors) {
    context->save_for_backward(tensors.vec());
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    context->set_materialize_grads(false);
    // No graph is made here: casts of parameters must not stay where a call with a graph would find them.
    const AutocastScope scope(call->autocast_device, call->autocast, call->autocast_dtype, /*cache=*/false);
    variable_list outputs = call->body(tensors.slice(0, call->inputs).vec());
    variable_list constants;
    for (const at::Tensor& output : outputs)
      if (!output.is_floating_point()) constants.push_back(output);
    context->mark_non_differentiable(constants);
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto call = c10::static_intrusive_pointer_cast<Call>(context->saved_data["call"].toCapsule());
    const variable_list tensors = context->get_saved_variables();
    variable_list inputs, wanted;
    std::vector<std::size_t> places;  // of `wanted` among the arguments of forward, of which the call is the first
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const bool needed = context->needs_input_grad(i);
      if (i < call->inputs) inputs.push_back(tensors[i].detach().set_requires_grad(needed));
      if (!needed) continue;
      wanted.push_back(i < call->inputs ? inputs.back() : tensors[i]);
      places.push_back(i + 1);
    }

    variable_list outputs;
    {
      const at::AutoGradMode with_graph(true);
      const GeneratorScope generators(call->devices);
      call->generators.restore();
      const AutocastScope scope(call->autocast_device, call->autocast, call->autocast_dtype, /*cache=*/true);
      outputs = call->body(inputs);
    }
    variable_list roots, root_grads;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!grads[i].defined() || !outputs[i].requires_grad()) continue;
      roots.push_back(outputs[i]);
      root_grads.push_back(grads[i]);
    }
    outputs.clear();
    variable_list result(tensors.size() + 1);
    if (roots.empty() || wanted.empty()) return result;
    const variable_list found = torch::autograd::grad(roots, wanted, root_grads, /*retain_graph=*/std::nullopt,
                                                      /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < places.size(); ++i) result[places[i]] = found[i];
    return result;
  }
};

bool any_needs_gradient(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors)
    if (tensor.requires_grad()) return true;
  return false;
}

}  // namespace

std::vector<at::Tensor> recomputed(Body body, const std::vector<at::Tensor>& inputs,
                                   const std::vector<at::Tensor>& parameters) {
  if (!at::GradMode::is_enabled() || !(any_needs_gradient(inputs) || any_needs_gradient(parameters)))
    return body(inputs);
  std::vector<at::Tensor> tensors = inputs;
  tensors.insert(tensors.end(), parameters.begin(), parameters.end());
  const auto call = c10::make_intrusive<Call>(std::move(body), inputs);
  return Recomputed::apply(call, at::TensorList(tensors));
}

}  // namespace longspan::models
