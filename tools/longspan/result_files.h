// Names of the files that demos and studies leave in their folder.
#pragma once

namespace longspan::tool {

inline constexpr const char *kMetrics = "metrics.json", *kResults = "results.json", *kCsv = "results.csv",
                            *kPage = "report.html";

}  // namespace longspan::tool
