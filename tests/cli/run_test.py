"""prepare, train, eval and generate, one after the other."""

import gzip
import json
import math
import os
import signal
import subprocess

import harness
from harness import TINY, TINY_LAVO


class PrepareTest(harness.ProgramTest):
    def test_counts_by_split(self):
        self.write("a.txt", harness.text(30000, 1))
        self.write("b.txt", harness.text(5000, 2))
        rows = {r["split"]: r for r in self.json_lines("prepare", "a.txt", "--held-out", "b.txt", "--out", "data", "--quiet")}
        self.assertEqual(set(rows), {"train", "valid", "test"})
        self.assertEqual(rows["train"]["tokens"] + rows["valid"]["tokens"], 30000)
        self.assertEqual(rows["test"]["tokens"], 5000)
        self.assertEqual(os.path.getsize(self.path("data/test.bin")), 5000)


class TrainTest(harness.ProgramTest):
    def train(self, out, *arguments):
        return self.json_lines("train", "data", "--out", out, "--quiet", "--threads", "1", *TINY_LAVO, *arguments)

    def test_json_lines_and_model_folder(self):
        self.prepared()
        rows = self.train("model", "--set", "train.steps=3")
        steps = [r for r in rows if r["event"] == "step"]
        self.assertEqual([r["step"] for r in steps], [1, 2, 3])
        for row in steps:
            self.assertAlmostEqual(row["bits_per_byte"], row["loss"] / math.log(2), places=12)
            for field in ["lr", "grad_norm", "tokens_per_second"]:
                self.assertGreater(row[field], 0)
        self.assertTrue(any(r["event"] == "validation" for r in rows))
        self.assertLessEqual({"config.json", "model.safetensors", "tokenizer.json", "checkpoints", "best"},
                             set(os.listdir(self.path("model"))))
        self.assertEqual(set(os.listdir(self.path("model/checkpoints/step-000003"))),
                         {"config.json", "model.safetensors", "tokenizer.json", "training.safetensors"})
        with open(self.path("model/config.json")) as file:
            config = json.load(file)
        self.assertEqual(config["model"]["attention"], "lavo")
        self.assertEqual(config["model"]["attention_options"]["r"], 4)
        self.assertIn("basis_mode", config["model"]["attention_options"])  # complete, defaults too
        self.assertEqual(config["train"]["steps"], 3)
        self.assertIn("learning_rate", config["train"])

    def test_equal_seeds_give_equal_losses(self):
        self.prepared()
        losses = []
        for out, seed in [("a", 5), ("b", 5), ("c", 6)]:
            losses.append([r["loss"] for r in self.train(out, "--set", "train.steps=2", "--seed", seed)])
        self.assertEqual(losses[0], losses[1])
        self.assertNotEqual(losses[0], losses[2])

    def test_configuration_file_attention_flag_and_settings(self):
        self.prepared()
        self.write("run.json", json.dumps({"model": {"attention": "lavo", "layers": 1}, "train": {"steps": 1, "batch": 3}}).encode())
        self.succeed("train", "data", "--out", "model", "--quiet", "--config", "run.json", "--attention", "softmax", *TINY[2:], "--set",
                     "model.attention_options.rope=true")
        with open(self.path("model/config.json")) as file:
            config = json.load(file)
        self.assertEqual(config["model"]["attention"], "softmax")
        self.assertEqual(config["model"]["attention_options"]["rope"], True)
        self.assertEqual(config["model"]["layers"], 1)
        self.assertEqual(config["train"]["batch"], 3)

    def test_existing_folder_is_refused_without_resume(self):
        self.trained(steps=1)
        self.refuse("train", "data", "--out", "model", *TINY_LAVO, containing=["model", "--resume"])
        self.refuse("train", "data", "--out", "other", "--resume", containing=["other"])

    def test_the_last_setting_of_a_field_counts(self):
        self.prepared()
        rows = self.train("model", "--set", "train.steps=3", "--set", "train.steps=1")
        self.assertEqual([r["step"] for r in rows if r["event"] == "step"], [1])

    def test_two_runs_in_one_folder(self):
        self.prepared()
        process = self.start("--out", "model", "--set", "train.steps=100000", "--quiet", "--no-report")  # files that stand still
        process.stdout.readline()
        try:
            for resume in [[], ["--resume"]]:  # there is no checkpoint yet
                self.refuse("train", "data", "--out", "model", "--quiet", *resume, *TINY_LAVO, status=1,
                            containing=["model: another run is at work in this folder (process %d)" % process.pid])
        finally:
            process.kill()  # no chance to clean up
            process.communicate(timeout=60)
        self.succeed("train", "data", "--out", "model", "--quiet", *TINY_LAVO, "--set", "train.steps=1")
        self.assertEqual(set(os.listdir(self.path("model"))),
                         {"config.json", "model.safetensors", "tokenizer.json", "checkpoints", "best", "history.jsonl",
                          "report.html"})

    def start(self, *arguments):
        return subprocess.Popen([harness.PROGRAM, "train", "data", "--json", "--threads", "1", *TINY_LAVO, *arguments], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                bufsize=0)  # communicate() would miss lines that a buffer has read ahead

    def test_interrupted_and_resumed_is_the_same_run(self):
        self.prepared()
        whole = [r for r in self.train("whole", "--set", "train.steps=400") if r["event"] == "step"]
        process = self.start("--out", "cut", "--set", "train.steps=400", "--quiet")
        first = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, errors)
        first += [json.loads(line) for line in rest.splitlines()]
        first = [r for r in first if r["event"] == "step"]
        self.assertLess(len(first), 400)
        second = self.json_lines("train", "data", "--out", "cut", "--resume", "--quiet", "--threads", "1")
        second = [r for r in second if r["event"] == "step"]
        self.assertEqual([r["step"] for r in first + second], list(range(1, 401)))
        self.assertEqual([r["loss"] for r in first + second], [r["loss"] for r in whole])
        with open(self.path("whole/model.safetensors"), "rb") as a, open(self.path("cut/model.safetensors"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def history(self, out):
        with open(self.path(out + "/history.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def page(self, out):
        with open(self.path(out + "/report.html"), encoding="utf-8") as file:
            return file.read()

    def test_history_and_page_of_a_run(self):
        self.prepared()
        rows = self.train("model", "--set", "train.steps=6", "--set", "train.checkpoint_every=4", "--set", "train.valid_every=3")
        events = self.history("model")
        self.assertEqual([(e["event"], e["step"]) for e in events],
                         [("start", 0), ("step", 1), ("step", 2), ("step", 3), ("validation", 3), ("checkpoint", 3),  # the best so far
                          ("step", 4), ("checkpoint", 4), ("step", 5), ("step", 6), ("validation", 6), ("checkpoint", 6)])
        self.assertEqual([e for e in events if e["event"] in ("step", "validation")], rows, "what --json printed")
        page = self.page("model")
        for part in ["Finished: 6 steps.", "<svg", "train.learning_rate", "longspan train data --out model --resume --steps 12", "LibTorch", "A sample"]:
            self.assertIn(part, page)
        for outside in ["http:", "https:", "src=", "<script", "http-equiv"]:
            self.assertNotIn(outside, page)

    def test_killed_and_resumed_history_is_that_of_one_run(self):
        self.prepared()
        every = ["--set", "train.steps=100000", "--set", "train.checkpoint_every=20"]
        process = self.start("--out", "cut", *every, "--quiet")
        for line in process.stdout:
            if json.loads(line)["step"] == 50:
                break
        self.assertIn("http-equiv=\"refresh\"", self.page("cut"), "a page of a run at work loads itself again")
        process.kill()
        process.communicate(timeout=60)
        with open(self.path("cut/history.jsonl"), "ab") as file:
            file.write(b'{"event":"step","st')  # as if it had been killed within a line
        self.succeed("train", "data", "--out", "cut", "--resume", "--quiet", "--threads", "1", "--set", "train.steps=80")
        events = self.history("cut")
        steps = [e for e in events if e["event"] == "step"]
        self.assertEqual([e["step"] for e in steps], list(range(1, 81)))
        starts = [e["step"] for e in events if e["event"] == "start"]
        self.assertEqual(len(starts), 2)
        self.assertEqual((starts[0], starts[1] % 20), (0, 0))
        page = self.page("cut")
        self.assertIn("resumed", page)
        for part in ["train data --json --threads 1", "This run from step", "train data --out cut --resume --steps 160"]:
            self.assertIn(part, page)
        self.assertNotIn("To go on with it", page)
        self.assertNotIn("http-equiv", page)

    def test_a_new_run_where_one_was_killed_before_its_first_checkpoint(self):
        self.prepared()
        process = self.start("--out", "model", "--set", "train.steps=100000", "--quiet")
        for _ in range(3):
            process.stdout.readline()
        process.kill()
        process.communicate(timeout=60)
        self.assertIn("history.jsonl", os.listdir(self.path("model")))
        self.succeed("train", "data", "--out", "model", "--quiet", *TINY_LAVO, "--set", "train.steps=1")
        self.assertEqual([(e["event"], e["step"]) for e in self.history("model")],
                         [("start", 0), ("step", 1), ("validation", 1), ("checkpoint", 1)])

    def test_an_interrupted_run_says_so(self):
        self.prepared()
        process = self.start("--out", "cut", "--set", "train.steps=100000", "--quiet")
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertIn("Stopped after step", self.page("cut"))

    def test_no_report(self):
        self.trained("--no-report", steps=2)
        self.assertEqual(set(os.listdir(self.path("model"))),
                         {"config.json", "model.safetensors", "tokenizer.json", "checkpoints", "best"})
        self.succeed("train", "data", "--out", "model", "--resume", "--quiet", "--set", "train.steps=4")
        self.assertEqual([e["step"] for e in self.history("model") if e["event"] == "step"], [3, 4])

    def test_a_page_that_cannot_be_written_does_not_end_the_run(self):
        self.trained(steps=2)
        os.remove(self.path("model/report.html"))
        os.mkdir(self.path("model/report.html"))
        result = self.succeed("train", "data", "--out", "model", "--resume", "--quiet", "--set", "train.steps=5")
        lines = [line for line in result.stderr.decode().splitlines() if "report.html" in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("the run goes on", lines[0])

    def test_verbose_says_once_which_form_ran(self):
        self.prepared()
        lines = self.succeed("train", "data", "--out", "model", "--quiet", "--verbose", *TINY_LAVO, "--set", "train.steps=3",
                             "--set", "train.autocast=none").stderr.decode().splitlines()
        for op in ["local_attention", "orthogonal_memory"]:
            self.assertEqual([line for line in lines if line.startswith("longspan: %s: " % op)],
                             ["longspan: %s: kernel (there is a kernel for float32 on cpu)" % op])

    def test_progress_goes_to_stderr(self):
        self.prepared()
        result = self.succeed("train", "data", "--out", "model", *TINY_LAVO, "--set", "train.steps=2")
        self.assertIn(b"tokens/s", result.stderr)
        self.assertIn(b"parameters", result.stdout)

    def test_more_steps_than_before_go_on(self):
        self.trained(steps=2)
        rows = self.json_lines("train", "data", "--out", "model", "--resume", "--quiet", "--set", "train.steps=4")
        self.assertEqual([r["step"] for r in rows if r["event"] == "step"], [3, 4])


class EvalTest(harness.ProgramTest):
    def test_fields_and_equal_targets(self):
        model = self.trained()
        rows = self.json_lines("eval", model, "--data", "data", "--lengths", "1024,4096", "--blocks", "2", "--quiet")
        self.assertEqual([r["length"] for r in rows], [1024, 4096])
        for row in rows:
            self.assertEqual((row["blocks"], row["tokens"]), (2, 2048))
            self.assertGreater(row["us_per_token"], 0)
            self.assertTrue(0 < row["bits_per_byte"] < 9)
        self.assertEqual(rows[0]["target_offsets"], rows[1]["target_offsets"])

    def test_a_text_file_and_its_dataset_give_the_same(self):
        model = self.trained()
        a, = self.json_lines("eval", model, "--data", "data", "--blocks", "2", "--quiet")
        b, = self.json_lines("eval", model, "--data", "held-out.txt", "--blocks", "2", "--quiet")
        self.assertEqual(a["bits_per_byte"], b["bits_per_byte"])

    def test_an_archive_and_its_content_give_the_same(self):
        model = self.trained()
        self.write("t.txt", harness.text(4000, 5))
        self.write("t.log.gz", gzip.compress(harness.text(4000, 5)))
        rows = [self.json_lines("eval", model, "--data", name, "--blocks", "2", "--threads", "1", "--quiet")[0] for name in ["t.txt", "t.log.gz"]]
        self.assertEqual(*[(row["bits_per_byte"], row["target_offsets"]) for row in rows])

    def test_limit_and_ablation(self):
        model = self.trained()
        rows = self.json_lines("eval", model, "--data", "data", "--lengths", "1024,2048", "--blocks", "4", "--limit", "2048=1", "--ablate",
                               "memory=zero", "--quiet")
        self.assertEqual([(r["length"], r["ablate"], r["blocks"]) for r in rows],
                         [(1024, None, 4), (2048, None, 1), (1024, "memory=zero", 4), (2048, "memory=zero", 1)])
        self.assertEqual([r["difference"] for r in rows[:2]], [None, None])
        self.assertNotEqual(rows[2]["difference"], 0)
        self.assertEqual(rows[2]["difference"], rows[2]["bits_per_byte"] - rows[0]["bits_per_byte"])

    def test_every_ablation_that_the_attention_offers(self):
        model = self.trained()
        rows = self.json_lines("eval", model, "--data", "data", "--blocks", "2", "--ablate", "all", "--quiet")
        self.assertEqual(rows[0]["ablate"], None)
        ways = [r["ablate"] for r in rows[1:]]
        self.assertLessEqual({"memory=zero", "memory=mean", "memory=swap", "local=zero", "head=0", "head=1"}, set(ways))
        self.assertFalse([w for w in ways if w.endswith("=none")])
        asked = [a for way in ways for a in ("--ablate", way)]
        self.assertEqual([r["difference"] for r in
                          self.json_lines("eval", model, "--data", "data", "--blocks", "2", *asked, "--quiet")],
                         [r["difference"] for r in rows])
        out = self.succeed("eval", model, "--data", "data", "--blocks", "2", "--ablate", "all", "--quiet").stdout.decode()
        for part in ["difference", "memory=swap", "nothing"]:
            self.assertIn(part, out)


class GenerateTest(harness.ProgramTest):
    def test_seed_decides(self):
        model = self.trained()
        run = lambda *more: self.succeed("generate", model, "--prompt", "the sea", "--tokens", "40", *more).stdout
        self.assertEqual(run("--seed", "3"), run("--seed", "3"))
        self.assertNotEqual(run("--seed", "3"), run("--seed", "4"))
        self.assertEqual(run("--temperature", "0", "--seed", "3"), run("--temperature", "0", "--seed", "4"))
        self.assertEqual(run("--top-k", "1"), run("--temperature", "0"))


if __name__ == "__main__":
    harness.main()
