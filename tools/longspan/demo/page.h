// The demo's report. Its sentences are put together from the measured numbers and claim nothing else.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "longspan/report/html.h"
#include "longspan/report/table.h"
#include "plan.h"
#include "results.h"

namespace longspan::tool {

/// Bits per byte by attention and length; cells on fewer blocks than the rest say how many.
report::Table quality_table(const DemoPlan& plan, const DemoResults& results);
report::Table training_table(const DemoPlan& plan, const DemoResults& results);
report::Table memory_table(const DemoPlan& plan, const DemoResults& results);
report::Table speed_table(const DemoPlan& plan, const DemoResults& results);

/// Differences of bits per byte smaller than this mean nothing with one seed.
inline constexpr double kMeaningful = 0.02;

/// One sentence each; "" where there is nothing to say.
std::string compressor_sentence(const DemoPlan& plan, const DemoResults& results);
std::string context_sentence(const DemoPlan& plan, const DemoResults& results, const Contender& contender);
std::string memory_sentence(const DemoPlan& plan, const DemoResults& results);
std::string local_sentence(const DemoPlan& plan, const DemoResults& results);
std::string speed_sentence(const DemoPlan& plan, const DemoResults& results);
std::string state_sentence(const DemoPlan& plan, const DemoResults& results);
/// From which length on LAVO costs no more than softmax; `what` begins it.
std::string break_even_sentence(const Costs& costs, const std::string& what);
/// "about 1,234".
std::string even_length(const BreakEven& even);
/// What matters most, for the top of the page.
std::string lead_sentence(const DemoPlan& plan, const DemoResults& results);

/// What is measured again by which command.
std::vector<std::pair<std::string, std::string>> repeating_commands(const DemoPlan& plan, const DemoResults& results);

report::HtmlPage demo_page(const DemoPlan& plan, const DemoResults& results);

}  // namespace longspan::tool
