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
  if (set.truncated > 0)
    log_info(str_cat("warning: ", flag, ": ", report::grouped(set.truncated), " of ", report::grouped(set.records),
                     " records are cut at ", report::grouped(options.length), " tokens; the longest has ",
                     report::grouped(set.longest_record),
                     set.lost_answers > 0
                         ? str_cat(", and ", report::grouped(set.lost_answers), " lose all their answers")
                         : std::string()));
  return set;
}

tasks::SequenceOptions sequences_of(const models::EncoderConfig& encoder, models::HeadKind kind,
                                    const Tokenizer& tokenizer, int64_t length, const Json& config) {
  tasks::TaskOptions trained;
  if (const auto task = config.find("task"); task != config.end()) tasks::merge_json(trained, *task);
  tasks::SequenceOptions out;
  out.tokenizer = &tokenizer;
  out.special = special_tokens(encoder);
  out.kind = kind;
  out.whole_words = kind == models::HeadKind::masked_language && trained.masking.whole_words;
  out.length = length > 0 ? length : trained.train.length;
  LONGSPAN_CHECK(encoder.positions != models::Positions::learned || out.length <= encoder.max_positions,
                 "--length: the model has learnt ", encoder.max_positions, " positions, got ", out.length);
  return out;
}

}  // namespace longspan::tool
