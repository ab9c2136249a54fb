#include "rows.h"

#include "longspan/base/check.h"

namespace longspan::tool {

std::vector<AblationRow> ablation_rows(int64_t head_width) {
  using std::string;
  std::vector<AblationRow> rows = {
      {"full", {}},
      {"without EPE", {{"epe", false}}},
      {"without EPE and CD", {{"epe", false}, {"memory_input", string("raw")}}},
      {"without CD", {{"memory_input", string("raw")}}},
      {"memory of past windows", {{"memory_update", string("window")}}},
      {"history block_causal", {{"history_attention", string("block_causal")}}},
      {"past windows, history block_bidirectional",
       {{"memory_update", string("window")}, {"history_attention", string("block_bidirectional")}}},
      {"local branch alone", {{"combine", string("local")}}},
      {"memory alone", {{"combine", string("global")}}},
      {"scores / sqrt(d)", {{"score_scale", string("inv_sqrt_d")}}},
      {"learned score scale", {{"score_scale", string("learned")}}},
  };
  for (const char* mode : {"frozen", "cayley", "householder", "soft", "free"})
    rows.push_back({str_cat("basis ", mode), {{"basis_mode", string(mode)}}});
  for (const char* mode : {"qr", "frozen", "cayley", "householder", "soft", "free"})
    rows.push_back({str_cat("r = d, basis ", mode), {{"r", head_width}, {"basis_mode", string(mode)}}});
  return rows;
}

}  // namespace longspan::tool
