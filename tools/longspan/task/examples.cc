#include "tools/longspan/task/examples.h"

#include "longspan/base/check.h"
#include "longspan/report/format.h"
#include "tools/longspan/log.h"
#include "tools/longspan/prepare_progress.h"

namespace longspan::tool {

namespace {

/// "; the longest has 9,000, and 2 lose all their answers"
std::string longest_of(const tasks::ExampleSet& set, bool with_lost) {
  std::string text = "; the longest has " + report::grouped(set.longest_record);
  if (with_lost && set.lost_answers > 0)
    text += str_cat(", and ", report::grouped(set.lost_answers), " lose all their answers");
  return text;
}

std::string records_of(const std::string& flag, const tasks::ExampleSet& set, int64_t count) {
  return str_cat(flag, ": ", report::grouped(count), " of ", report::grouped(set.records), " records are ");
}

}  // namespace

void tell_cut(const std::string& flag, const tasks::ExampleSet& set, int64_t length) {
  if (set.truncated > 0)
    log_info(str_cat("warning: ", records_of(flag, set, set.truncated), "cut at ", report::grouped(length), " tokens",
                     longest_of(set, true), " (--length says where, --long-texts windows reads all)"));
}

tasks::ExampleSet read_task_examples(const std::string& flag, const RecordOptions& records,
                                     const tasks::SequenceOptions& options, bool quiet) {
  PrepareProgress progress(quiet);
  tasks::ExampleSet set = read_examples(records, options, progress);
  progress.finish();
  if (set.windowed > 0)
    log_info(str_cat(records_of(flag, set, set.windowed), "read in windows of ", report::grouped(options.length),
                     " tokens, ", report::grouped(set.sequences()), " sequences in all",
                     longest_of(set, set.truncated == 0)));
  tell_cut(flag, set, options.length);
  return set;
}

}  // namespace longspan::tool
