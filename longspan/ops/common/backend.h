// Choice between the forms of an operator.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

namespace longspan::ops {

/// Which form of an operator runs.
enum class Backend { kernel, composed, reference };

/// `requested`: "auto" (the kernel where there is one, else the composed form), "kernel", "composed", "reference".
/// `beyond`: what of the call the kernel does not take although it takes q's dtype and device ("R = 300, more than
/// 256"); empty: nothing.
Backend choose_backend(const char* op, std::string_view requested, const at::Tensor& q, std::string_view beyond = "");

/// Tells the backend log (backend_log.h), if there is one, what is about to run: called where the work is done, once
/// for each call of the operator.
void report_backend(const char* op, std::string_view requested, Backend chosen, const at::Tensor& q,
                    std::string_view beyond = "");

}  // namespace longspan::ops
