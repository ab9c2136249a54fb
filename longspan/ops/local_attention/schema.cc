#include <torch/library.h>

TORCH_LIBRARY_FRAGMENT(longspan, m) {
  m.def(
      "local_attention(Tensor q, Tensor k, Tensor v, Tensor? table, int reach_left, int reach_right, "
      "float? scale=None, Tensor? cu_seqlens=None, Tensor? cu_seqlens_k=None, *, float dropout=0.0, "
      "Tensor? dropout_seed=None, Tensor? dropout_origin=None, bool float32_out=False, str backend=\"auto\") -> "
      "Tensor",
      {at::Tag::pt2_compliant_tag});
  m.def(
      "local_attention_forward(Tensor q, Tensor k, Tensor v, Tensor? table, int reach_left, int reach_right, "
      "float? scale=None, Tensor? cu_seqlens=None, Tensor? cu_seqlens_k=None, *, float dropout=0.0, "
      "Tensor? dropout_seed=None, Tensor? dropout_origin=None, bool float32_out=False, str backend=\"auto\") -> "
      "(Tensor out, Tensor lse)",
      {at::Tag::pt2_compliant_tag});
  m.def(
      "local_attention_backward(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor? table, Tensor out, Tensor lse, "
      "int reach_left, int reach_right, float? scale=None, Tensor? cu_seqlens=None, Tensor? cu_seqlens_k=None, *, "
      "float dropout=0.0, Tensor? dropout_seed=None, Tensor? dropout_origin=None) -> "
      "(Tensor dq, Tensor dk, Tensor dv, Tensor dtable)",
      {at::Tag::pt2_compliant_tag});
}
