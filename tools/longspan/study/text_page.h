// The page of a study on text.
#pragma once

#include "longspan/report/html.h"
#include "tools/longspan/study/text_results.h"

namespace longspan::tool {

report::HtmlPage text_page(const TextStudy& study);

}  // namespace longspan::tool
