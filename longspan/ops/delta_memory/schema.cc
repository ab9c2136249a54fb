#include <torch/library.h>

#include <string>

TORCH_LIBRARY_FRAGMENT(longspan, m) {
  const auto define = [&](const std::string& schema) { m.def(schema.c_str(), {at::Tag::pt2_compliant_tag}); };
  const std::string operands = "Tensor q, Tensor k, Tensor v, Tensor beta, ";
  const std::string of_call = operands + "Tensor? log_alpha=None, Tensor? state=None, Tensor? cu_seqlens=None, *, ";
  const std::string options = "bool delta=True, str backend=\"auto\"";
  define("delta_memory(" + of_call + options + ") -> (Tensor out, Tensor state_out)");
  define("delta_memory_forward(" + of_call + options +
         ", bool keep_segments=False) -> (Tensor out, Tensor state_out, Tensor segments)");
  define("delta_memory_backward(Tensor? dout, Tensor? dstate_out, " + of_call +
         "Tensor? segments=None, bool delta=True) -> "
         "(Tensor dq, Tensor dk, Tensor dv, Tensor dbeta, Tensor dlog_alpha, Tensor dstate)");
  const std::string of_stream = operands +
                                "Tensor? log_alpha, Tensor memory, Tensor keys, Tensor writes, Tensor? log_alpha_rows, "
                                "Tensor position, Tensor? cu_seqlens=None, *, ";
  const std::string stream_results =
      "Tensor out, Tensor memory_out, Tensor keys_out, Tensor writes_out, Tensor log_alpha_rows_out, "
      "Tensor position_out";
  define("delta_memory_extend(" + of_stream + options + ") -> (" + stream_results + ")");
  define("delta_memory_extend_forward(" + of_stream + options + ", bool keep_segments=False) -> (" + stream_results +
         ", Tensor segments)");
  define(
      "delta_memory_extend_backward(Tensor? dout, Tensor? dmemory_out, Tensor? dkeys_out, Tensor? dwrites_out, "
      "Tensor? dlog_alpha_rows_out, " +
      of_stream +
      "Tensor? segments=None, bool delta=True) -> (Tensor dq, Tensor dk, Tensor dv, Tensor dbeta, Tensor dlog_alpha, "
      "Tensor dmemory, Tensor dkeys, Tensor dwrites, Tensor dlog_alpha_rows)");
}
