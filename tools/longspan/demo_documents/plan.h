// What the document demo trains and measures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "longspan/base/fields.h"

namespace longspan::tool {

/// One of the attentions that are compared.
struct DocumentContender {
  std::string name;       ///< of folders and metrics: "single-hop"
  std::string label;      ///< for a person
  std::string attention;  ///< in the registry
  FieldValues options = {};
};

/// One task; its data are NAME/{train,valid,test}.jsonl in the folder of the tasks.
struct DocumentTask {
  enum class Kind { classification, question, masked };
  std::string name, title;
  Kind kind = Kind::classification;
  std::string about = {};  ///< for a person: what is asked, and what cannot give it away
  std::string from = {};   ///< task whose encoder training goes on from; "": from the beginning
  int64_t tokens = 0;      ///< of the longest sequence
  int64_t steps = 0, batch = 0;
  double learning_rate = 0;
  int64_t siblings = 1;  ///< documents that were made of the same passages
  int64_t window = 0;    ///< tokens that the yardstick "softmax on the first ... tokens" reads; 0: no such yardstick
};

struct DocumentPlan {
  std::string data, out;  ///< folder of the tasks; of the results
  bool full = false;
  std::vector<DocumentTask> tasks;
  std::vector<DocumentContender> contenders;
  std::vector<int64_t> seeds = {0};
  int64_t layers = 2, width = 64, heads = 2, feed_forward = 256;
  int64_t positions = 4096;      ///< learned ones of every encoder: tokens of the longest sequence
  std::vector<int64_t> lengths;  ///< tokens at which a step is measured
};

/// The tasks of the folder `data`. `steps` and `longest` restrict it (0: as planned): no more steps for a task, no step
/// measured at more tokens.
DocumentPlan make_document_plan(const std::string& data, bool full, int64_t steps, int64_t longest);

}  // namespace longspan::tool
