#include "tools/longspan/task/examples.h"

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "tools/longspan/log.h"
#include "tools/longspan/prepare_progress.h"

namespace longspan::tool {

tasks::ExampleSet read_task_examples(const std::string& flag, const RecordOptions& records,
                                     const tasks::SequenceOptions& options, bool quiet) {
  PrepareProgress progress(quiet);
  tasks::ExampleSet set = read_examples(records, options, progress);
  progress.finish();
  const auto of_records = [&](int64_t count) {
    return str_cat(flag, ": ", report::grouped(count), " of ", report::grouped(set.records), " records are ");
  };
  const std::string longest = "; the longest has " + report::grouped(set.longest_record);
  const std::string lost =
      set.lost_answers > 0 ? str_cat(", and ", report::grouped(set.lost_answers), " lose all their answers") : "";
  if (set.windowed > 0)
    log_info(str_cat(of_records(set.windowed), "read in windows of ", report::grouped(options.length), " tokens, ",
                     report::grouped(set.sequences()), " sequences in all", longest, set.truncated > 0 ? "" : lost));
  if (set.truncated > 0)
    log_info(str_cat("warning: ", of_records(set.truncated), "cut at ", report::grouped(options.length), " tokens",
                     longest, lost));
  return set;
}

}  // namespace longspan::tool
