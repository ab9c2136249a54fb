#include <torch/library.h>

TORCH_LIBRARY_FRAGMENT(longspan, m) {
  const auto define = [&](const std::string& schema) { m.def(schema.c_str(), {at::Tag::pt2_compliant_tag}); };
  const std::string operands = "Tensor q, Tensor k, Tensor v, Tensor coefficients";
  const std::string patterns = ", Tensor[] patterns, Tensor? pattern_of=None";
  const std::string padding =
      ", float? scale=None, Tensor? cu_seqlens=None, Tensor? valid=None, *, "
      "str padding=\"remove\", ";
  const std::string options =
      "float attention_dropout=0.0, str dropout_mode=\"once\", float hop_dropout=0.0, Tensor? dropout_seed=None, "
      "Tensor? dropout_origin=None, str backward=\"recompute_slices\", str edge_weights=\"stored\", "
      "str backend=\"auto\"";
  define("diffusion(" + operands + patterns + padding + options + ") -> Tensor");
  define("diffusion_forward(" + operands + patterns + padding + options +
         ", int kept_weights=0, bool keep_states=False) -> (Tensor out, Tensor lse, Tensor weights, Tensor states)");
  // What stands behind required arguments can have no default.
  const std::string of_call = ", Tensor[] patterns, Tensor? pattern_of, ";
  define("diffusion_backward(Tensor dout, " + operands + of_call + "Tensor? weights=None, Tensor? states=None" +
         padding + options + ") -> (Tensor dq, Tensor dk, Tensor dv, Tensor dcoefficients)");
  define("diffusion_extend(" + operands + ", Tensor states" + patterns +
         ", Tensor? positions=None, float? scale=None, *, " + options +
         ") -> (Tensor out, Tensor new_states, Tensor lse)");
  define("diffusion_extend_backward(Tensor? dout, Tensor? dnew_states, " + operands + ", Tensor states" + of_call +
         "Tensor? positions, Tensor new_states, float? scale=None, *, " + options +
         ") -> (Tensor dq, Tensor dk, Tensor dv, Tensor dcoefficients, Tensor dstates)");
  define(
      "diffusion_coefficients(str kind, int hops, Tensor? alpha=None, Tensor? t=None, Tensor? logits=None) -> "
      "Tensor");
  // Its result's size is a matter of values: it cannot be traced.
  m.def(
      "pattern(str name, int n, int seed, str[] options, *, int layer=0, Tensor? edges=None, "
      "Tensor? global_tokens=None) -> Tensor");
}
