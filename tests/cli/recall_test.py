"""longspan recall: training on rows that are made, measuring, looking at them."""

import glob
import json
import os
import signal
import subprocess
import time

import harness

SMALL = ["--keys", "16", "--values", "16", "--fillers", "4", "--pairs", "4", "--stages", "2", "--layers", "1", "--width", "16", "--heads", "2",
         "--feed-forward", "16", "--length", "32", "--batch", "2", "--warmup", "2", "--threads", "1"]
LOCAL = [*SMALL, "--attention", "local", "--set", "model.attention_options.w=4"]


class RecallTest(harness.ProgramTest):
    def test_a_model_is_trained_and_measured(self):
        rows = self.json_lines("recall", "train", "--out", "model", "--steps", "4", "--quiet", *LOCAL)
        self.assertEqual([row["step"] for row in rows], [1, 2, 3, 4])
        with open(self.path("model/config.json")) as file:
            config = json.load(file)
        self.assertEqual(config["recall"]["keys"], 16)
        self.assertEqual(config["model"]["vocabulary"], 36)
        self.assertEqual(config["train"]["learning_rate"], 4e-3)
        cells = self.json_lines("recall", "eval", "model", "--pairs", "2,4", "--lengths", "32,64", "--questions", "40", "--span", "16", "--quiet")
        self.assertEqual([(cell["pairs"], cell["length"]) for cell in cells], [(2, 32), (4, 32), (2, 64), (4, 64)])
        for cell in cells:
            self.assertGreaterEqual(cell["questions"], 40)
            self.assertTrue(0 <= cell["accuracy"] <= 1)
            self.assertEqual(cell["whole"], cell["accuracy"])
        again = self.json_lines("recall", "eval", "model", "--pairs", "4", "--lengths", "64", "--questions", "40", "--span", "16", "--quiet")
        self.assertEqual({**again[0], "seconds": 0}, {**cells[3], "seconds": 0}, "a cell does not depend on the others")
        other = self.json_lines("recall", "eval", "model", "--pairs", "4", "--lengths", "64", "--questions", "40", "--span", "16", "--seed", "1",
                                "--quiet")
        self.assertNotEqual(other[0]["loss"], cells[3]["loss"])
        table = self.succeed("recall", "eval", "model", "--pairs", "2", "--lengths", "32", "--quiet").stdout.decode()
        self.assertIn("standard error", table)

    def test_a_model_of_it_is_a_model_like_others(self):
        self.succeed("recall", "train", "--out", "model", "--steps", "2", "--quiet", *LOCAL)
        text, = self.json_lines("recall", "show", "--pairs", "4", "--length", "31", "--keys", "16", "--values", "16", "--fillers", "4")
        self.assertEqual(len(text["tokens"]), 32)
        self.assertEqual([text["text"].split()[place] for place in text["questions"]],
                         ["k%d" % text["tokens"][place] for place in text["questions"]])
        shown = self.succeed("tokenize", "model/tokenizer.json", text["text"]).stdout.decode()
        self.assertIn(text["text"].split()[0], shown)
        written = self.succeed("generate", "model", "--prompt", text["text"], "--tokens", "3", "--quiet").stdout.decode()
        self.assertRegex(written.split()[-1], r"^[kvf]\d+$")

    def test_stopped_runs_go_on(self):
        whole = self.json_lines("recall", "train", "--out", "whole", "--steps", "6", "--quiet", *LOCAL)
        self.succeed("recall", "train", "--out", "parts", "--steps", "6", "--checkpoint-every", "3", "--quiet", *LOCAL)
        for name in ["model.safetensors"]:
            with open(self.path("whole/" + name), "rb") as one, open(self.path("parts/" + name), "rb") as other:
                self.assertEqual(one.read(), other.read())
        process = subprocess.Popen([harness.PROGRAM, "recall", "train", "--out", "killed", "--steps", "100000", "--checkpoint-every", "5",
                                    "--quiet", *LOCAL], cwd=self.folder)
        # The latest few are kept, so the first one may be gone before anybody looks.
        while not glob.glob(self.path("killed/checkpoints/step-*")) and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 130)
        with open(self.path("killed/config.json")) as file:
            config = json.load(file)
        self.assertEqual(config["train"]["steps"], 100000)
        done = max(int(folder.rsplit("-", 1)[1]) for folder in glob.glob(self.path("killed/checkpoints/step-*")))
        rows = self.json_lines("recall", "train", "--out", "killed", "--resume", "--steps", str(done + 100), "--quiet", "--threads", "1")
        self.assertEqual(rows[-1]["step"], done + 100)
        self.assertEqual(len(whole), 6)

    def test_copy(self):
        self.succeed("recall", "train", "--out", "model", "--steps", "2", "--quiet", "--task", "copy", "--fact", "3", *LOCAL)
        cells = self.json_lines("recall", "eval", "model", "--lengths", "5,40", "--questions", "48", "--quiet")
        self.assertEqual([(cell["pairs"], cell["length"], cell["questions"]) for cell in cells], [(1, 5, 48), (1, 40, 48)])
        row, = self.json_lines("recall", "show", "--task", "copy", "--length", "5")
        words = row["text"].split()
        self.assertEqual(words[:9], words[14:])
        self.assertTrue(all(word.startswith("f") for word in words[9:14]))

    def test_wrong_input(self):
        for arguments, parts in [
                (["--pairs", "200"], ["pairs", "128", "200"]),
                (["--length", "30"], ["length", "multiple of 4", "30"]),
                (["--length", "8"], ["length 2"]),
                (["--attention", "lavoo"], ["lavoo", "lavo"]),
                (["--set", "recall.pears=3"], ["pears", "pairs"]),
                (["--set", "train.sequences=carried"], ["train.sequences has no use"]),
                (["--set", "model.vocabulary=3"], ["model.vocabulary follows"]),
                (["--set", "reccall.pairs=3"], ["reccall", "recall"]),
                (["--task", "copie"], ["task", "copie"]),
                (["--steps", "0"], ["steps"]),
                (["--resume"], ["no run to go on with"])]:
            with self.subTest(arguments):
                self.refuse("recall", "train", "--out", "m", "--quiet", *arguments, containing=parts)
        self.refuse("recall", "eval", "missing", containing=["missing"])
        self.refuse("recall", "show", "--pairs", "64", "--length", "64", containing=["64 pairs", "length 64"])
        self.succeed("recall", "train", "--out", "mine", "--steps", "1", "--quiet", *LOCAL)
        self.refuse("recall", "train", "--out", "mine", "--quiet", *LOCAL, containing=["'mine' exists"])
        for arguments, parts in [(["--pairs", "17"], ["pairs", "16", "17"]), (["--lengths", "4", "--pairs", "4"], ["length 4"]),
                                 (["--pairs", "4,x"], ["--pairs"]), (["--span", "1"], ["span 1"]), (["--questions", "0"], ["--questions"])]:
            with self.subTest(arguments):
                self.refuse("recall", "eval", "mine", "--quiet", *arguments, containing=parts)
        self.trained(steps=1)
        self.refuse("recall", "eval", "model", containing=["expected a model of longspan recall train"])


if __name__ == "__main__":
    harness.main()
