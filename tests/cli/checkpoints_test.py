"""What train keeps, what it goes on from, and what it leaves when it is stopped."""

import json
import os
import shutil
import signal
import struct
import subprocess
import unittest

import documentation
import harness
from harness import TINY, TINY_LAVO


class CheckpointTest(harness.ProgramTest):
    def train(self, *arguments, out="model"):
        return self.json_lines("train", "data", "--out", out, "--quiet", "--threads", "1", *arguments)

    def begin(self, *arguments, out="model"):
        if not os.path.exists(self.path("data")):
            self.prepared()
        return self.train(*TINY_LAVO, *arguments, out=out)

    def weights(self, folder):
        with open(self.path(os.path.join(folder, "model.safetensors")), "rb") as file:
            return file.read()

    def kept(self, out="model"):
        return sorted(os.listdir(self.path(out + "/checkpoints")))


class KeepTest(CheckpointTest):
    def test_every_one_is_a_model(self):
        self.begin("--steps", 6, "--checkpoint-every", 2, "--valid-every", 2, "--keep-last", 2)
        self.assertIn("step-000006", self.kept())
        self.assertLessEqual(len(self.kept()), 3)
        self.assertEqual(self.weights("model"), self.weights("model/checkpoints/step-000006"))
        for folder in ["model", "model/best", *("model/checkpoints/" + name for name in self.kept())]:
            self.succeed("generate", folder, "--prompt", "the", "--tokens", "2")
        rows = self.json_lines("eval", "model/best", "--data", "data", "--blocks", "1", "--quiet")
        self.assertEqual(len(rows), 1)

    def test_flags_are_fields_of_the_table(self):
        self.begin("--steps", 1, "--batch", 3, "--learning-rate", "0.5", "--warmup", 0)
        with open(self.path("model/config.json")) as file:
            train = json.load(file)["train"]
        self.assertEqual((train["steps"], train["batch"], train["learning_rate"]), (1, 3, 0.5))
        refuse = lambda *a, containing: self.refuse("train", "data", "--out", "other", "--quiet", *a, containing=containing)
        refuse("--steps", "0", containing=["train: steps must be an integer from 1", "got 0"])
        refuse("--batch", "many", containing=["batch", "many"])
        refuse("--keep-last", "0", containing=["keep_last", "0"])
        refuse("--layer", "3", containing=["--layer", "--layers"])


class ResumeTest(CheckpointTest):
    def test_a_finished_run_says_so(self):
        self.begin("--steps", 3)
        result = self.succeed("train", "data", "--out", "model", "--resume", "--quiet")
        self.assertIn("the run in 'model' is finished: all 3 steps are done", result.stderr.decode())
        self.refuse("train", "data", "--out", "model", "--resume", "--steps", 2, "--quiet",
                    containing=["the run in 'model' has done 3 steps, more than the 2 asked for"])

    def test_a_damaged_checkpoint_gives_way_with_a_warning(self):
        whole = self.begin("--steps", 4, "--checkpoint-every", 1, "--keep-last", 2)
        latest = self.path("model/checkpoints/step-000004/training.safetensors")
        with open(latest, "r+b") as file:
            file.truncate(1000)
        result = self.succeed("train", "data", "--out", "model", "--resume", "--quiet", "--threads", "1", "--json")
        self.assertIn("warning: resume: model/checkpoints/step-000004/training.safetensors: ", result.stderr.decode())
        self.assertIn("warning: resume: going on from step 3 instead", result.stderr.decode())
        steps = [r for r in map(json.loads, result.stdout.decode().splitlines()) if r["event"] == "step"]
        self.assertEqual([(r["step"], r["loss"]) for r in steps],
                         [(r["step"], r["loss"]) for r in whole if r["event"] == "step"][3:])
        for name in self.kept():
            os.truncate(self.path("model/checkpoints/%s/training.safetensors" % name), 10)
        self.refuse("train", "data", "--out", "model", "--resume", "--quiet", containing=["training.safetensors"])

    @unittest.skipUnless(shutil.which("spm_train"), "needs spm_train")
    def test_another_tokenizer_of_the_same_size_is_refused(self):
        text = harness.text(9000, 1).replace(b" ship", b" ship\n")
        for name, text in [("a", text), ("b", text.upper())]:
            self.write(name + ".txt", text)
            subprocess.run(["spm_train", "--input=%s.txt" % name, "--model_prefix=" + name, "--vocab_size=40",
                            "--hard_vocab_limit=false", "--minloglevel=3"],
                           cwd=self.folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.succeed("prepare", name + ".txt", "--tokenizer", name + ".model", "--out", name, "--quiet")
        shape = ["--attention", "local", "--layers", "1", "--width", "16", "--heads", "2", "--length", "32", "--batch", "1", "--quiet"]
        self.succeed("train", "a", "--out", "model", *shape, "--steps", "1")
        self.refuse("train", "b", "--out", "model", "--resume", "--steps", "2", "--quiet",
                    containing=["--resume: the run in 'model' has another tokenizer than the dataset 'b'"])

    def test_a_page_of_a_model_with_learned_positions(self):
        self.prepared()
        self.succeed("train", "data", "--out", "model", "--quiet", *TINY_LAVO, "--steps", "1", "--set", "train.length=32",
                     "--positions", "learned", "--max-positions", "32")
        self.assertTrue(os.path.exists(self.path("model/report.html")))

    def test_the_configuration_of_a_model_is_one_for_training(self):
        self.trained(steps=1)
        self.succeed("train", "data", "--out", "again", "--config", "model/config.json", "--quiet")

    def test_other_options_and_data_are_told(self):
        self.begin("--steps", 2)
        result = self.succeed("train", "data", "--out", "model", "--resume", "--quiet", "--steps", 3, "--batch", 1)
        self.assertIn("warning: resume: options changed: steps 2 -> 3, batch 2 -> 1", result.stderr.decode())


class InitTest(CheckpointTest):
    def test_weights_and_shape_are_taken_over(self):
        self.prepared()
        still = ["--learning-rate", "0", "--weight-decay", "0"]
        self.train(*TINY, "--attention", "softmax", "--steps", 2, out="softmax")
        self.train("--init-from", "softmax", "--length", 32, "--steps", 1, *still, out="copy")
        self.assertEqual(self.weights("copy"), self.weights("softmax"))
        self.begin("--steps", 1)
        result = self.succeed("train", "data", "--out", "local", "--init-from", "model/best", "--attention", "local", "--set",
                              "model.attention_options.w=8", "--steps", 1, "--quiet")
        self.assertIn("of 'model/best' not used: blocks.0.attention.basis", result.stderr.decode())

    def test_what_does_not_fit_is_named(self):
        self.begin("--steps", 1)
        refuse = lambda *a, containing: self.refuse("train", "data", "--out", "other", "--quiet", *a, containing=containing)
        refuse("--init-from", "model", "--feed-forward", 31,
               containing=["model/model.safetensors: tensor 'blocks.0.feed_forward.down.weight' must have shape [16, 31], got [16, 32]"])
        refuse("--init-from", "nowhere", containing=["nowhere"])
        refuse("--init-from", "data", containing=["data/config.json"])
        refuse("--init-from", "model", "--resume", containing=["--init-from", "--resume"])


class StopTest(CheckpointTest):
    def start(self, *arguments):
        self.prepared()
        process = subprocess.Popen([harness.PROGRAM, "train", "data", "--out", "model", "--json", "--quiet", "--threads", "1",
                                    *TINY_LAVO, "--steps", "100000", *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, bufsize=0)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        for _ in range(3):
            process.stdout.readline()
        return process

    def test_sigterm_is_as_ctrl_c(self):
        process = self.start()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn(b"checkpoint written, go on with --resume", errors)
        self.assertEqual(len(self.kept()), 1)
        self.assertFalse([name for name in os.listdir(self.path("model")) if name.startswith(".")])

    def test_a_second_ctrl_c_ends_it_at_once_without_harm(self):
        process = self.start("--checkpoint-every", "1", "--keep-last", "2")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        self.succeed("generate", "model", "--prompt", "the", "--tokens", "2")
        last = int(self.kept()[-1][5:])
        rows = self.train("--resume", "--steps", last + 2)
        self.assertEqual([r["step"] for r in rows if r["event"] == "step"], [last + 1, last + 2])
        self.assertFalse([name for name in os.listdir(self.path("model/checkpoints")) if name.startswith(".")])


class NonFiniteTest(CheckpointTest):
    def test_the_step_can_be_repeated_from_what_is_left(self):
        self.begin("--steps", 1)
        name = "blocks.1.feed_forward.up.bias"
        self.spoil("model", name)
        start = ["train", "data", "--out", "bad", "--quiet", "--init-from", "model", "--steps", "3", "--batch", "2", "--length", "64"]
        result = self.run_program(*start)
        self.assertEqual(result.returncode, 1)
        line, = result.stderr.decode().splitlines()
        for part in ["the loss is not finite at step 1", name, "the state before it lies in bad/nonfinite"]:
            self.assertIn(part, line)
        with open(self.path("bad/nonfinite/nonfinite.json")) as file:
            report = json.load(file)
        self.assertEqual(documentation.undocumented(documentation.documented()["nonfinite.json"], report), [])
        self.assertEqual(report["step"], 1)
        again = self.run_program(*report["repeat"].split()[1:], "--quiet")
        self.assertEqual(again.returncode, 1)
        self.assertIn("the loss is not finite at step 1", again.stderr.decode())


class DryRunTest(CheckpointTest):
    def test_counts_and_nothing_written(self):
        self.begin("--steps", 1)
        before = self.listing()
        row, = self.json_lines("train", "data", "--dry-run", "--quiet", *TINY_LAVO, "--steps", 7)
        self.assertEqual(self.listing(), before)
        with open(self.path("model/model.safetensors"), "rb") as file:
            size, = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(size))
        header.pop("__metadata__")
        count = lambda tensor: (tensor["data_offsets"][1] - tensor["data_offsets"][0]) // 4
        self.assertEqual(row["parameters"], sum(map(count, header.values())))
        self.assertEqual(row["peak_bytes"], row["weight_bytes"] + row["activation_bytes"] + row["program_bytes"])
        self.assertGreaterEqual(row["run_seconds"], 7 * row["step_seconds"])
        self.assertEqual(row["disk_bytes"], 3 * row["checkpoint_bytes"])
        for name in ["projections", "attention", "feed_forward", "head"]:
            self.assertGreater(row["flops"][name], 0)
        text = self.succeed("train", "data", "--dry-run", "--quiet", *TINY_LAVO).stdout.decode()
        for part in ["peak memory", "time of the run", "state of a stream"]:
            self.assertIn(part, text)
        self.refuse("train", "data", "--dry-run", "--length", "100000", containing=["100000"])


if __name__ == "__main__":
    harness.main()
