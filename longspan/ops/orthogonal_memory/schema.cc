#include <torch/library.h>

TORCH_LIBRARY_FRAGMENT(longspan, m) {
  m.def(
      "orthogonal_memory(Tensor q, Tensor m, Tensor basis, str form, float scale=1.0, Tensor? cu_seqlens=None, "
      "Tensor? cu_seqlens_source=None, *, int window=0, str accumulator=\"float64\", float dropout=0.0, "
      "Tensor? dropout_seed=None, str backend=\"auto\") -> Tensor",
      {at::Tag::pt2_compliant_tag});
  m.def(
      "orthogonal_memory_backward(Tensor dout, Tensor q, Tensor m, Tensor basis, str form, float scale=1.0, "
      "Tensor? cu_seqlens=None, Tensor? cu_seqlens_source=None, *, int window=0, float dropout=0.0, "
      "Tensor? dropout_seed=None) -> (Tensor dq, Tensor dm, Tensor dbasis)",
      {at::Tag::pt2_compliant_tag});
  m.def(
      "orthogonal_memory_extend(Tensor q, Tensor m, Tensor basis, Tensor closed, Tensor open, Tensor count, "
      "float scale=1.0, Tensor? cu_seqlens=None, *, Tensor? visible=None, int window=0, "
      "str accumulator=\"float64\", float dropout=0.0, Tensor? dropout_seed=None, str backend=\"auto\") "
      "-> (Tensor out, Tensor closed_out, Tensor open_out, Tensor count_out, Tensor visible_out)",
      {at::Tag::pt2_compliant_tag});
  m.def(
      "orthogonal_memory_extend_backward(Tensor? dout, Tensor? dclosed_out, Tensor? dopen_out, Tensor? dvisible_out, "
      "Tensor q, Tensor m, Tensor basis, Tensor closed, Tensor open, Tensor count, float scale=1.0, "
      "Tensor? cu_seqlens=None, *, Tensor? visible=None, int window=0, str accumulator=\"float64\", "
      "float dropout=0.0, Tensor? dropout_seed=None) "
      "-> (Tensor dq, Tensor dm, Tensor dbasis, Tensor dclosed, Tensor dopen, Tensor dvisible)",
      {at::Tag::pt2_compliant_tag});
}
