// The page of a study on text.
#pragma once

#include "longspan/report/chart.h"
#include "longspan/report/html.h"
#include "tools/longspan/study/text_results.h"

namespace longspan::tool {

/// Bits per byte by context of a panel's variants, where they were measured on all blocks.
report::LineChart length_chart(const TextStudy& study, const StudyPanel& panel);

report::HtmlPage text_page(const TextStudy& study);

}  // namespace longspan::tool
