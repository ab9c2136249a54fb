#include "plan.h"

#include <algorithm>

namespace longspan::tool {

namespace {

/// Diffuser's own pattern: a window, a few tokens at the start that see all and are seen by all, and random keys.
const FieldValues kOwnPattern = {{"pattern", "window_overlap+global+random"},
                                 {"w", int64_t{128}},
                                 {"g", int64_t{8}},
                                 {"global_choice", "first"},
                                 {"r", int64_t{16}}};

FieldValues with(FieldValues values, const FieldValues& more) {
  for (const auto& [name, value] : more) values[name] = value;
  return values;
}

std::vector<DocumentContender> contenders() {
  const FieldValue single = "single";
  return {
      {"diffuser", "Diffuser, 5 hops", "diffuser", kOwnPattern},
      {"single-hop", "Diffuser, single hop", "diffuser", with(kOwnPattern, {{"diffusion", single}})},
      {"longformer",
       "Longformer pattern",
       "diffuser",
       {{"pattern", "longformer"},
        {"w", int64_t{256}},
        {"g", int64_t{8}},
        {"global_choice", "first"},
        {"diffusion", single}}},
      {"bigbird", "BigBird pattern", "diffuser", {{"pattern", "bigbird"}, {"b", int64_t{64}}, {"diffusion", single}}},
      {"softmax", "softmax", "softmax", {}},
  };
}

DocumentTask author() {
  return {.name = "author",
          .title = "Author of a passage",
          .about =
              "Author of a passage: are these 72 words by Jane Austen or from \"An Anarchist FAQ\"? Easy, and words "
              "alone tell; what the encoders learn here helps them with the next task.",
          .tokens = 256,
          .steps = 120,
          .batch = 32,
          .learning_rate = 2e-3};
}

DocumentTask near() {
  return {.name = "near",
          .title = "First and last author, near",
          .about =
              "First and last author, near: who wrote the first passage of the document, and who the last? There are "
              "four answers. Between the two stand two more passages, so that every document has two of each author. "
              "Every document has three siblings of exactly the same words, one for each other answer: word counts "
              "say nothing.",
          .from = "author",
          .tokens = 512,
          .steps = 1600,
          .batch = 32,
          .learning_rate = 2e-3,
          .siblings = 4};
}

DocumentTask middle() {
  return {.name = "middle",
          .title = "First and last author, 250 tokens apart",
          .about =
              "First and last author, some 250 tokens apart: the same with longer passages, and words of manuals "
              "between them.",
          .from = "near",
          .tokens = 1024,
          .steps = 200,
          .batch = 16,
          .learning_rate = 1e-3,
          .siblings = 4};
}

DocumentTask pairs() {
  return {.name = "pairs",
          .title = "First and last author, 2,000 tokens apart",
          .about =
              "First and last author, more than 2,000 tokens apart: the same once more. Whoever reads the first 512 "
              "tokens alone knows one "
              "of the two authors and can be right in half of the documents.",
          .from = "middle",
          .tokens = 4096,
          .steps = 300,
          .batch = 8,
          .learning_rate = 1e-3,
          .siblings = 4,
          .window = 512};
}

DocumentTask novel() {
  return {.name = "novel",
          .title = "Novel of a window",
          .about =
              "Novel of a window: from which of six novels by Jane Austen are these 1,000 words? The first halves of "
              "the novels are trained on, the second halves are not. All names of people and places are replaced "
              "by \"Someone\".",
          .tokens = 2048,
          .steps = 600,
          .batch = 8,
          .learning_rate = 1e-3,
          .window = 512};
}

DocumentTask manuals() {
  return {.name = "manuals",
          .title = "Masked words of manuals",
          .kind = DocumentTask::Kind::masked,
          .about =
              "Masked words of manuals: 15 % of the tokens of manual pages are hidden and to be filled in; the score "
              "is the part that is filled in exactly.",
          .tokens = 2048,
          .steps = 1000,
          .batch = 8,
          .learning_rate = 1e-3};
}

DocumentTask options() {
  return {.name = "options",
          .title = "Options of manuals",
          .kind = DocumentTask::Kind::question,
          .about =
              "Options of manuals: which words of the page say what an option or flag means? The score is F1 of the "
              "words, as SQuAD counts. Looking for the words of the question finds the place, so this shows that "
              "spans are learned, not that they are hard.",
          .from = "manuals",
          .tokens = 4096,
          .steps = 1000,
          .batch = 8,
          .learning_rate = 1e-3};
}

}  // namespace

DocumentPlan make_document_plan(const std::string& data, bool full, int64_t steps, int64_t longest) {
  DocumentPlan plan;
  plan.data = data;
  plan.full = full;
  plan.contenders = contenders();
  plan.tasks = {author(), near(), middle(), pairs()};
  plan.lengths = {1024, 2048, 4096, 8192};
  if (full) {
    plan.tasks.insert(plan.tasks.end(), {novel(), manuals(), options()});
    for (DocumentTask& task : plan.tasks)
      if (task.name == "middle" || task.name == "pairs") task.steps *= 2;
    plan.seeds = {0, 1, 2};
    plan.lengths.push_back(16384);
  }
  for (DocumentTask& task : plan.tasks)
    if (steps > 0) task.steps = std::min(task.steps, steps);
  if (longest > 0) std::erase_if(plan.lengths, [&](int64_t length) { return length > longest; });
  return plan;
}

}  // namespace longspan::tool
