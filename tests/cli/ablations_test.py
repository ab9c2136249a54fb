"""longspan ablations in miniature: every row, and what it refuses."""

import json
import os
import signal
import subprocess
import time

import harness

SMALL = ["--blocks", "2", "--set", "model.layers=1", "--set", "model.width=16", "--set", "model.heads=2", "--set",
         "model.feed_forward=16", "--set", "model.attention_options.r=4", "--set", "model.attention_options.w=4", "--set",
         "train.length=64", "--set", "train.batch=2", "--set", "train.warmup=1", "--threads", "1"]
TINY = ["--steps", "2", *SMALL]


class AblationsTest(harness.ProgramTest):
    def test_a_row_for_each_variant(self):
        rows = self.json_lines("ablations", "--out", "out", "--quiet", *TINY)
        names = [r["name"] for r in rows]
        self.assertEqual(names[0], "full")
        self.assertEqual(len(set(names)), len(names))
        self.assertLessEqual({"without EPE", "without EPE and CD", "without CD", "local branch alone", "memory alone", "memory of past windows",
                              "history block_causal", "learned score scale", "basis cayley", "r = d, basis free"}, set(names))
        by_name = dict(zip(names, rows))
        self.assertEqual(by_name["full"]["options"], {})
        self.assertEqual(by_name["full"]["difference"], 0)
        self.assertIsNone(by_name["local branch alone"]["memory_effect"])
        self.assertNotEqual(by_name["memory alone"]["memory_effect"], 0)
        for row in rows[1:]:
            self.assertEqual(row["difference"], row["bits_per_byte"] - rows[0]["bits_per_byte"])
            self.assertTrue(0 < row["bits_per_byte"] < 9 and row["parameters"] > 0 and row["tokens_per_second"] > 0)
        self.assertTrue(any(row["options"].get("r") == 8 for row in rows), "as many slots as the head is wide")
        with open(self.path("out/ablations.json")) as file:
            self.assertEqual(json.load(file), rows)

    def test_seeds_and_a_text_of_ones_own(self):
        self.write("mine.txt", harness.text(30000, 7))
        out = self.succeed("ablations", "--out", "out", "--text", "mine.txt", "--seeds", "2", "--quiet", *TINY).stdout.decode()
        for part in ["mean over 2 seeds", "lowest to highest", "full", "without EPE and CD"]:
            self.assertIn(part, out)

    def test_rows_made_equal_are_left_out(self):
        result = self.succeed("ablations", "--out", "out", "--json", *TINY, "--set", "model.attention_options.r=8", "--set",
                              "model.attention_options.basis_mode=frozen")
        names = [json.loads(line)["name"] for line in result.stdout.decode().splitlines()]
        said = result.stderr.decode()
        self.assertIn("'basis frozen' is left out: with these settings it is 'full'", said)
        self.assertIn("'r = d, basis soft' is left out: with these settings it is 'basis soft'", said)
        self.assertNotIn("basis frozen", names)
        self.assertIn("basis soft", names)

    def test_wrong_input(self):
        self.write("short.txt", b"abc")
        self.refuse("ablations", "--text", "short.txt", "--quiet", containing=["ablations: 'short.txt' has 3 bytes, at least 20480"])
        self.refuse("ablations", "--set", "model.attention=local", "--quiet", containing=["model.attention must be lavo, got local"])
        self.refuse("ablations", "--set", "train.step=3", "--quiet", containing=["did you mean 'steps'?"])
        self.refuse("ablations", "--steps", "0", "--quiet", containing=["--steps"])

    def test_only_its_own_folder(self):
        self.prepared()
        refused = "holds something else than results of longspan ablations"
        self.refuse("ablations", "--out", ".", "--quiet", *TINY, containing=["--out: '.' " + refused])
        self.refuse("ablations", "--out", "data", "--quiet", *TINY, containing=["--out: 'data' " + refused])

    def test_finished_results_are_replaced_on_request_alone(self):
        with open(self.path("mine.txt"), "wb") as file:
            file.write(harness.text(30000, 7))
        self.succeed("ablations", "--out", "out", "--quiet", *SMALL, "--steps", "1")
        again = ["ablations", "--out", "out", "--text", "mine.txt", "--quiet", *SMALL, "--steps", "1"]
        self.refuse(*again, containing=["--out: 'out' holds the results of an earlier longspan ablations", "--overwrite"])
        self.refuse("demo", "--out", "out", "--text", "mine.txt", "--quiet",
                    containing=["--out: 'out' holds something else than results of longspan demo"])
        self.succeed(*again, "--overwrite")
        with open(self.path("out/text/train.txt"), "rb") as train, open(self.path("mine.txt"), "rb") as mine:
            self.assertTrue(mine.read().startswith(train.read()), "made of the second text")

    def test_an_interrupted_run_leaves_nothing(self):
        process = subprocess.Popen([harness.PROGRAM, "ablations", "--out", "out", *SMALL, "--steps", "100000"], cwd=self.folder,
                                   stderr=subprocess.PIPE)
        process.stderr.read(1)  # progress of the text or of a model
        while not os.path.exists(self.path("out/data")):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.listing(), {})


if __name__ == "__main__":
    harness.main()
