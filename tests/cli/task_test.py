"""longspan task: train, eval and predict, one after the other."""

import json
import os
import random

import documentation
import harness

TINY = ["--layers", "1", "--width", "32", "--heads", "2", "--feed-forward", "32", "--deviation", "0.1", "--length", "64", "--batch", "16",
        "--warmup", "5", "--learning-rate", "0.005", "--threads", "1", "--dropout", "0", "--attention", "softmax"]


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def labelled(count, seed, field="label"):
    """Letters among which x or y stands, which is the label."""
    draw = random.Random(seed)
    records = []
    for _ in range(count):
        text = [draw.choice("abcdef") for _ in range(draw.randint(5, 20))]
        label = draw.choice("xy")
        text[draw.randrange(len(text))] = label
        records.append({"text": "".join(text), field: [label] if field == "labels" else label})
    return records


def questions(count, seed):
    draw = random.Random(seed)
    records = []
    for _ in range(count):
        digits = "".join(draw.choice("0123456789") for _ in range(3))
        letters = "".join(draw.choice("abcdef ") for _ in range(15))
        at = draw.randrange(15)
        records.append({"question": "which?", "context": letters[:at] + digits + letters[at:], "answers": [digits]})
    return records


class TaskTest(harness.ProgramTest):
    def train(self, kind, *arguments):
        return self.json_lines("task", "train", kind, "--data", "train.jsonl", "--out", "model", "--quiet", *TINY, *arguments)

    def test_classification(self):
        self.write("train.jsonl", lines(labelled(300, 1)))
        self.write("valid.jsonl", lines(labelled(100, 2)))
        rows = self.train("classification", "--valid", "valid.jsonl", "--steps", "100", "--dtype", "float32")
        self.assertEqual([r["step"] for r in rows if r["event"] == "step"], list(range(1, 101)))
        valid = rows[-1]
        self.assertGreater(valid["accuracy"], 0.8)
        self.assertLessEqual({"config.json", "model.safetensors", "tokenizer.json", "history.jsonl", "report.html", "best"},
                             set(os.listdir(self.path("model"))))
        with open(self.path("model/report.html"), encoding="utf-8") as page:
            self.assertIn("nats", page.read())
        again, = self.json_lines("task", "eval", "model", "valid.jsonl", "--quiet", "--threads", "1")
        for name in ["loss", "accuracy", "macro_f1", "micro_f1"]:
            self.assertEqual(again[name], valid[name], name)
        self.assertIn("accuracy", self.succeed("task", "eval", "model", "valid.jsonl").stdout.decode())

        one, = self.json_lines("task", "eval", "model", "valid.jsonl", "--quiet", "--threads", "1", "--absent-labels", "one")
        self.assertEqual(one["f1"], again["f1"])

        # Without labels, from standard input and as plain lines.
        said = self.json_lines("task", "predict", "model", "-", "--documents", "line", "--quiet", stdin=b"abcxab\nfedycb\n")
        self.assertEqual([r["line"] for r in said], [1, 2])
        self.assertEqual([r["label"] for r in said], ["x", "y"])
        self.assertAlmostEqual(sum(said[0]["probabilities"].values()), 1)

    def test_the_best_by_the_metric_is_read(self):
        draw = random.Random(1)  # labels that nothing tells: what is learnt from them is of no use, now more and now less
        for name, count in [("train.jsonl", 40), ("valid.jsonl", 30)]:
            self.write(name, lines([{"text": "".join(draw.choice("abcdef") for _ in range(12)), "label": draw.choice("xy")}
                                    for _ in range(count)]))
        rows = self.train("classification", "--valid", "valid.jsonl", "--steps", "12", "--valid-every", "1", "--schedule", "constant",
                          "--dtype", "float32")
        rows = [r for r in rows if r["event"] == "validation"]
        best = min(rows, key=lambda r: (-r["accuracy"], r["loss"]))
        self.assertNotEqual(best, rows[-1], "the test shows nothing")
        step = os.path.basename(os.path.realpath(self.path("model/best")))
        self.assertEqual(step, "step-%06d" % best["step"])
        measure = ["task", "eval", "model", "valid.jsonl", "--quiet", "--threads", "1"]
        for arguments, expected, folder in [([], best, "model/best"), (["--latest"], rows[-1], "model")]:
            got, = self.json_lines(*measure, *arguments)
            self.assertEqual((got["model"], got["loss"], got["accuracy"]), (folder, expected["loss"], expected["accuracy"]))
        asked = b"abcxab\n" * 2
        said = [self.json_lines("task", "predict", "model", "-", "--documents", "line", "--quiet", *arguments, stdin=asked)
                for arguments in [[], ["--latest"]]]
        self.assertNotEqual(said[0][0]["probabilities"], said[1][0]["probabilities"])
        self.refuse("task", "train", "classification", "--data", "train.jsonl", "--valid", "valid.jsonl", "--out", "other", "--quiet", "--best-by",
                    "f1", containing=["best_by of classification must be metric, loss, accuracy, macro_f1, micro_f1, got f1"])

    def test_the_attention_of_a_first_run(self):
        self.write("train.jsonl", lines(labelled(20, 1)))
        self.succeed("task", "train", "classification", "--data", "train.jsonl", "--out", "model", "--quiet", "--steps", "1", "--length",
                     "64", "--layers", "1")
        with open(self.path("model/config.json")) as file:
            config = json.load(file)
        self.assertEqual(config["encoder"]["attention"], "diffuser")
        self.assertEqual(config["encoder"]["attention_options"]["pattern"], "window_overlap+global+random")

    def test_a_loss_that_is_not_finite(self):
        self.write("train.jsonl", lines(labelled(20, 1)))
        self.train("classification", "--steps", "1")
        self.spoil("model", "encoder.blocks.0.feed_forward.up.bias")
        result = self.run_program("task", "train", "classification", "--data", "train.jsonl", "--out", "bad", "--quiet", "--init-from",
                                  "model", "--batch", "16", "--steps", "3")
        self.assertEqual(result.returncode, 1)
        line, = result.stderr.decode().splitlines()
        for part in ["the loss is not finite at step 1", "the state before it lies in bad/nonfinite"]:
            self.assertIn(part, line)
        with open(self.path("bad/nonfinite/nonfinite.json")) as file:
            report = json.load(file)
        self.assertEqual(documentation.undocumented(documentation.documented()["nonfinite.json"], report), [])
        self.assertEqual(len(report["examples"]), 16)
        again = self.run_program(*report["repeat"].split()[1:], "--quiet")
        self.assertEqual(again.returncode, 1)
        self.assertIn("the loss is not finite at step 1", again.stderr.decode())

    def test_multi_label_and_csv(self):
        self.write("train.jsonl", lines(labelled(60, 1, "labels")))
        self.write("more.csv", b'text,labels\n"a, x",x\nnothing,\n"both x\ny","x;y"\n')
        rows = self.train("multi_label", "--valid", "more.csv", "--steps", "3")
        self.assertIn("exact_match", rows[-1])
        said = self.json_lines("task", "predict", "model", "more.csv", "--quiet")
        self.assertEqual([r["line"] for r in said], [2, 3, 4])
        self.assertEqual(set(said[0]["probabilities"]), {"x", "y"})

    def test_question(self):
        self.write("train.jsonl", lines(questions(300, 1)))
        self.write("valid.jsonl", lines(questions(50, 2)))
        rows = self.train("question", "--valid", "valid.jsonl", "--steps", "150")
        self.assertGreater(rows[-1]["exact_match"], 0.5)
        self.assertGreaterEqual(rows[-1]["f1"], rows[-1]["exact_match"])
        asked = [{"question": r["question"], "context": r["context"]} for r in questions(20, 3)]
        self.write("asked.jsonl", lines(asked))
        for record, row in zip(asked, self.json_lines("task", "predict", "model", "asked.jsonl", "--quiet")):
            self.assertEqual(record["context"][row["start"]:row["end"]], row["answer"])

    def test_a_tokenizer_with_special_tokens_of_its_own(self):
        """That of BERT: its tokens stand around texts, and it changes them, but answers stand in the text as it is."""
        letters = "abcdefghijklmnopqrstuvwxyz0123456789?"
        names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *["##" + c for c in letters]]
        added = [{"id": i, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                  "special": True} for i, name in enumerate(names[:5])]
        self.write("bert.json", json.dumps({
            "version": "1.0", "added_tokens": added, "normalizer": {"type": "BertNormalizer"},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            "decoder": {"type": "WordPiece", "prefix": "##"},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "vocab": {name: i for i, name in enumerate(names)}}}).encode())
        context = "\u00c9a \u3000Ce\u0301\u200b. 12\u00a03"
        record = {"question": "which?", "context": context, "answers": [{"text": "Ce\u0301", "answer_start": 4}]}
        self.write("train.jsonl", lines([record] * 8))
        self.train("question", "--tokenizer", "bert.json", "--steps", "60", "--dtype", "float32", "--no-report")
        with open(self.path("model/config.json"), encoding="utf-8") as file:
            encoder = json.load(file)["encoder"]
        self.assertEqual({name: encoder[name] for name in ("vocabulary", "first_token", "separator_token", "padding_token",
                                                           "mask_token", "separators")},
                         {"vocabulary": len(names), "first_token": 2, "separator_token": 3, "padding_token": 0, "mask_token": 4,
                          "separators": 1})
        said, = self.json_lines("task", "predict", "model", "-", "--format", "jsonl", "--quiet", "--best", "50", stdin=lines([record]))
        self.assertEqual(said["answer"], "Ce\u0301")
        for answer in said["best"]:
            self.assertEqual(context[answer["start_character"]:answer["end_character"]], answer["answer"])
            self.assertEqual(context.encode()[answer["start"]:answer["end"]].decode(), answer["answer"])
            self.assertEqual(answer["answer"].strip(" \u00a0\u3000\u200b"), answer["answer"])
        # With tokens of the model's own, where asked for.
        self.json_lines("task", "train", "question", "--data", "train.jsonl", "--out", "own", "--quiet", *TINY, "--tokenizer", "bert.json",
                        "--steps", "1", "--no-report", "--first-token", "-4", "--separator-token", "-3", "--padding-token", "-2",
                        "--mask-token", "-1", "--separators", "2")
        with open(self.path("own/config.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["encoder"]["vocabulary"], len(names) + 4)

        self.write("text.jsonl", lines([{"text": "ab ab ab"}] * 8))
        self.json_lines("task", "train", "masked_language", "--data", "text.jsonl", "--out", "masked", "--quiet", *TINY,
                        "--tokenizer", "bert.json", "--steps", "1", "--no-report")
        for mask in ("<mask>", "[MASK]"):
            filled, = self.json_lines("task", "predict", "masked", "-", "--format", "jsonl", "--quiet", "--top", "3",
                                      stdin=lines([{"text": "ab %s ab" % mask}]))
            self.assertEqual(len(filled["masks"]), 1)
            self.assertEqual(len(filled["masks"][0]), 3)

    def test_documents_longer_than_a_sequence(self):
        records = []
        for number, record in enumerate(questions(200, 1)):
            before = "\u00e9\u20ac" * 20  # 100 bytes, so that the answer lies behind the first sequence
            records.append({**record, "id": "q%d" % number, "context": before + record["context"], "aliases": ["nowhere"]})
        self.write("train.jsonl", lines(records[:160]))
        self.write("valid.jsonl", lines(records[160:]))
        windows = ["--stride", "20", "--train-windows", "2", "--learn-answers", "all"]
        result = self.succeed("task", "train", "question", "--data", "train.jsonl", "--out", "model", "--quiet", *TINY, "--steps", "150",
                              *windows)
        self.assertIn("--data: 160 of 160 records are read in windows of 64 tokens, 800 sequences in all; the longest has 128", result.stderr.decode())
        self.assertNotIn("warning", result.stderr.decode())
        row, = self.json_lines("task", "eval", "model", "valid.jsonl", "--quiet")
        self.assertGreater(row["exact_match"], 0.2)  # by chance 1 of 58 places
        self.assertEqual(row["examples"], 40)
        self.assertGreaterEqual(row["sequences"], 3 * 40)
        self.assertEqual(row["truncated"], 0)
        # Cut, no answer is in sight.
        cut, = self.json_lines("task", "eval", "model", "valid.jsonl", "--quiet", "--long-texts", "cut")
        self.assertEqual((cut["exact_match"], cut["sequences"], cut["truncated"], cut["loss"]), (0, 40, 40, None))

        said = self.json_lines("task", "predict", "model", "valid.jsonl", "--quiet", "--best", "4")
        for record, row in zip(records[160:], said):
            self.assertEqual(row["id"], record["id"])
            self.assertEqual(len(row["best"]), 4)
            self.assertEqual(row["best"][0], {name: row[name] for name in row["best"][0]})
            for answer in row["best"]:
                text = record["context"]
                self.assertEqual(text[answer["start_character"]:answer["end_character"]], answer["answer"])
                self.assertEqual(text.encode()[answer["start"]:answer["end"]].decode(), answer["answer"])
        self.assertEqual(sum(row["answer"] in record["answers"] for record, row in zip(records[160:], said)) / 40,
                         self.json_lines("task", "eval", "model", "valid.jsonl", "--quiet")[0]["exact_match"])
        self.refuse("task", "eval", "model", "valid.jsonl", "--stride", "-1", containing=["stride must be an integer from 0"])

    def test_questions_without_an_answer(self):
        records = questions(100, 1)
        for record in records[::3]:
            record["context"], record["answers"] = "abc def", []
        self.write("train.jsonl", lines(records))
        self.train("question", "--steps", "60")
        row, = self.json_lines("task", "eval", "model", "train.jsonl", "--quiet")
        self.assertLessEqual({"has_answer_f1", "no_answer_exact_match", "best_f1", "best_f1_threshold"}, set(row))
        self.assertGreaterEqual(row["best_f1"], row["f1"])
        none, = self.json_lines("task", "eval", "model", "train.jsonl", "--quiet", "--threshold", "-1000")
        self.assertEqual((none["no_answer_exact_match"], none["has_answer_exact_match"]), (1, 0))
        self.refuse("task", "eval", "model", "train.jsonl", "--quiet", "--threshold", "nan",
                    containing=["--threshold: expected a number, got nan"])
        said = self.json_lines("task", "predict", "model", "train.jsonl", "--quiet", "--threshold", "-1000")
        self.assertEqual((said[0]["answer"], said[0]["start"], said[0]["end_character"]), ("", None, None))

    def test_choice(self):
        draw = random.Random(1)
        records = []
        for number in range(240):
            answer = draw.choice("123")
            supports = ["".join(draw.choice("abcdef") for _ in range(25)) for _ in range(3)]
            supports[draw.randrange(3)] += answer
            records.append({"id": number, "question": "which?", "supports": supports, "candidates": ["1", "2", "3"], "answer": answer})
        self.write("train.jsonl", lines(records[:200]))
        self.write("valid.jsonl", lines(records[200:]))
        rows = self.train("choice", "--valid", "valid.jsonl", "--steps", "150", "--stride", "20", "--train-windows", "0",
                          "--dtype", "float32")
        self.assertGreater(rows[-1]["accuracy"], 0.6)  # one of 3 by chance
        again, = self.json_lines("task", "eval", "model", "valid.jsonl", "--quiet", "--threads", "1")
        self.assertEqual((again["accuracy"], again["loss"]), (rows[-1]["accuracy"], rows[-1]["loss"]))
        self.assertGreater(again["sequences"], 40)
        asked = [{name: record[name] for name in record if name != "answer"} for record in records[200:]]
        self.write("asked.jsonl", lines(asked))
        said = self.json_lines("task", "predict", "model", "asked.jsonl", "--quiet")
        self.assertEqual([row["id"] for row in said], [str(record["id"]) for record in asked])
        self.assertAlmostEqual(sum(row["answer"] == record["answer"] for record, row in zip(records[200:], said)) / 40, again["accuracy"])
        self.assertEqual(set(said[0]["probabilities"]), {"1", "2", "3"})
        self.refuse("task", "predict", "model", "asked.jsonl", "--best", "2", containing=["--best: the model is for choice, not for question"])

    def test_masked_language_and_what_begins_from_it(self):
        self.write("train.jsonl", lines([{"text": "abcdefgh" * 20}] * 4))
        rows = self.train("masked_language", "--valid", "train.jsonl", "--steps", "5", "--whole-words", "false")
        self.assertIn("bits_per_token", rows[-1])
        filled, = self.json_lines("task", "predict", "model", "-", "--quiet", "--top", "3", stdin=b"abc<mask>efgh<mask>")
        self.assertEqual([len(mask) for mask in filled["masks"]], [3, 3])
        self.refuse("task", "predict", "model", "-", "--quiet", stdin=b"abc",
                    containing=["standard input:1: the text has no <mask> to be filled"])

        self.write("labels.jsonl", lines(labelled(20, 1)))
        result = self.succeed("task", "train", "classification", "--data", "labels.jsonl", "--out", "next", "--init-from", "model",
                              "--steps", "2", "--quiet", "--length", "128")
        self.assertIn("drawn anew: head.dense.bias", result.stderr.decode())
        with open(self.path("next/config.json")) as file:
            config = json.load(file)
        self.assertEqual(config["encoder"]["width"], 32)
        self.assertEqual(config["encoder"]["max_positions"], 128)

    def test_goes_on_where_it_was_stopped(self):
        self.write("train.jsonl", lines(labelled(50, 1)))
        constant = ["--schedule", "constant"]  # a cosine ends where the run does
        self.train("classification", "--steps", "6", *constant)
        os.rename(self.path("model"), self.path("whole"))
        first = self.train("classification", "--steps", "3", *constant)
        more = self.json_lines("task", "train", "classification", "--data", "train.jsonl", "--out", "model", "--resume", "--steps", "6",
                               "--quiet", "--threads", "1")
        self.assertEqual([r["step"] for r in first + more], [1, 2, 3, 4, 5, 6])
        with open(self.path("model/model.safetensors"), "rb") as a, open(self.path("whole/model.safetensors"), "rb") as b:
            self.assertEqual(a.read(), b.read())
        self.refuse("task", "train", "question", "--data", "train.jsonl", "--out", "model", "--resume",
                    containing=["--resume: the run in 'model' is for classification, not for question"])

    def test_says_what_is_cut(self):
        self.write("train.jsonl", lines(labelled(20, 1) + [{"text": "a" * 100, "label": "x"}]))
        result = self.succeed("task", "train", "classification", "--data", "train.jsonl", "--out", "model", "--quiet", *TINY, "--steps",
                              "1")
        self.assertIn("--data: 1 of 21 records are cut at 64 tokens; the longest has 102 (--length says where", result.stderr.decode())
        result = self.succeed("task", "predict", "model", "train.jsonl", "--quiet")
        self.assertIn("the examples: 1 of 21 records are cut at 64 tokens; the longest has 102", result.stderr.decode())
        self.assertNotIn("cut at", self.succeed("task", "predict", "model", "-", "--documents", "line", "--quiet",
                                                  stdin=b"abcxab\n").stderr.decode())
        result = self.succeed("task", "train", "classification", "--data", "train.jsonl", "--out", "windows", "--quiet", *TINY, "--steps",
                              "1", "--long-texts", "windows")
        self.assertIn("--data: 1 of 21 records are read in windows of 64 tokens, 23 sequences in all; the longest has 102",
                      result.stderr.decode())

    def test_wrong_input(self):
        self.write("train.jsonl", lines(labelled(20, 1)))
        self.write("bad.jsonl", lines(labelled(2, 1)) + b'{"text": "a"}\n')
        self.write("other.jsonl", lines([{"text": "a", "label": "z"}]))
        train = ["task", "train", "classification", "--out", "model", "--quiet", "--steps", "1"]
        self.refuse("task", "train", "clasification", "--data", "train.jsonl", "--out", "model",
                    containing=["unknown kind of task 'clasification'; did you mean 'classification'?"])
        self.refuse(*train, "--data", "bad.jsonl", containing=["bad.jsonl:3: has no field 'label', only: text"])
        self.refuse(*train, "--data", "missing.jsonl", containing=["missing.jsonl"])
        self.refuse(*train, "--data", "train.jsonl", "--valid", "other.jsonl", containing=["other.jsonl:1: unknown label 'z'"])
        self.refuse(*train, "--data", "train.jsonl", "--set", "encoder.hedas=2", containing=["did you mean 'heads'?"])
        self.refuse(*train, "--data", "train.jsonl", "--set", "tsk.steps=2", containing=["did you mean 'task'?"])
        for setting, named in [("head.kind=question", "head.kind"), ("head.labels=3", "head.labels"),
                               ("encoder.vocabulary=300", "encoder.vocabulary"), ("data.train=x", "data")]:
            self.refuse(*train, "--data", "train.jsonl", "--set", setting, containing=["--set: '" + named + "'"])
        self.refuse(*train, "--data", "train.jsonl", "--attention", "sofmax", containing=["did you mean 'softmax'?"])
        self.refuse(*train, "--data", "train.jsonl", "--mask-share", "0.9", "--random-share", "0.2", containing=["must add up to at most 1"])
        self.refuse("task", "eval", "missing", "train.jsonl", containing=["missing: not a model: no such folder"])
        self.refuse("task", containing=["subcommand"])


if __name__ == "__main__":
    harness.main()
