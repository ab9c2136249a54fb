// Which form of an operator ran, and why, on request.
#pragma once

#include <functional>
#include <string_view>

namespace longspan::ops {

/// Called with the operator ("local_attention"), what ran ("kernel", "composed" or "reference") and the reason ("asked
/// for", "there is no kernel for float16 on cpu"). The texts live as long as the call.
using BackendLog = std::function<void(std::string_view op, std::string_view backend, std::string_view reason)>;

/// From now on `log` is called once for every forward pass of an operator, on the thread that calls the operator and
/// before it computes (a compiled graph of another form than the kernel: once, when it is traced). A backward pass is
/// that of the form that ran forward. An empty function, the state at the start, ends it. Safe to call from any thread;
/// an exception of `log` reaches the operator's caller.
void set_backend_log(BackendLog log);

}  // namespace longspan::ops
