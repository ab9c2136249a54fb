"""longspan inspect rolling: errors of shifts, a chart, and what is refused."""

import json
import xml.etree.ElementTree

import harness

SMALL = ["--n", "48", "--heads", "2", "--head-dim", "8", "--quiet"]


class RollingTest(harness.ProgramTest):
    def look(self, *arguments):
        return self.json_lines("inspect", "rolling", *SMALL, *arguments)

    def test_patterns_side_by_side(self):
        full, blocks = self.look("--pattern", "full", "--pattern", "window_block", "--set", "hops=2", "--set", "b=16")
        self.assertEqual(set(full), {"attention", "name", "n", "seed", "shifts", "errors", "options"})
        self.assertEqual((full["name"], blocks["name"]), ("full", "window_block"))
        self.assertEqual(full["shifts"], [0, 1, 2, 4, 8, 16])
        # Two evaluations in float64, rounded differently.
        self.assertLess(max(full["errors"]), 1e-12)
        self.assertGreater(min(blocks["errors"][1:-1]), 1e-3)
        self.assertLess(blocks["errors"][-1], 1e-12, "a whole block")

    def test_other_attentions_and_shifts(self):
        local, = self.look("--attention", "local", "--set", "w=4", "--shifts", "5,3")
        self.assertEqual((local["name"], local["shifts"]), ("local", [5, 3]))
        self.assertGreater(min(local["errors"]), 1e-3, "a window that does not go round")
        softmax, = self.look("--attention", "softmax")
        self.assertLess(max(softmax["errors"]), 1e-12)

    def test_a_pattern_that_goes_along(self):
        pattern = ["--pattern", "window_block+global+random", "--set", "b=8", "--set", "r=2", "--set", "g=4"]
        all_of_it, = self.look(*pattern, "--roll-pattern", "all")
        self.assertLess(max(all_of_it["errors"]), 1e-12)
        fixed, = self.look(*pattern)
        moved, = self.look(*pattern, "--roll-pattern", "global")
        self.assertNotEqual(fixed["errors"][1], moved["errors"][1])
        self.assertGreater(min(fixed["errors"][1], moved["errors"][1]), 1e-3)

    def model(self, kind="classification", *arguments):
        with open(self.path("train.jsonl"), "w") as file:
            for i in range(12):
                file.write(json.dumps({"text": "abcdefgh"[i % 8:] + "xy"[i % 2] * (i % 3 + 1) + "abcdefgh" * (i % 4), "label": "xy"[i % 2]})
                           + "\n")
        self.succeed("task", "train", kind, "--data", "train.jsonl", "--out", "model", "--quiet", "--layers", "1", "--width", "32",
                     "--heads", "2", "--feed-forward", "32", "--deviation", "0.3", "--length", "64", "--steps", "2", "--threads", "1",
                     *arguments)

    def test_a_model(self):
        self.model("classification", "--attention", "diffuser", "--set", "encoder.attention_options.pattern=window_band+global", "--set",
                   "encoder.attention_options.k=2", "--set", "encoder.attention_options.g=2")
        look = ["inspect", "rolling", "model", "--data", "train.jsonl", "--quiet"]
        rows = self.json_lines(*look, "--svg", "r.svg")
        evaluated, = self.json_lines("task", "eval", "model", "train.jsonl", "--quiet")
        self.assertEqual([r["shift"] for r in rows], [0, 1, 2, 4, 8, 16])  # the longest has 34 tokens
        self.assertEqual((rows[0]["hidden_change"], rows[0]["head_change"]), (0, 0))
        for name in ["loss", "accuracy", "macro_f1", "examples", "tokens"]:
            self.assertEqual(rows[0][name], evaluated[name], name)
        self.assertGreater(min(r["hidden_change"] for r in rows[1:]), 1e-2)
        with open(self.path("r.svg")) as file:
            root = xml.etree.ElementTree.fromstring(file.read())
        self.assertTrue(root.tag.endswith("svg"))

        still = self.json_lines(*look, "--shifts", "3,5", "--positions", "token", "--roll-pattern", "all")
        self.assertLess(max(r["hidden_change"] for r in still), 1e-4, "rounding in float32")
        moved = self.json_lines(*look, "--shifts", "40", "--positions", "token", "--roll-pattern", "global", "--slots", "48")  # behind the end
        self.assertGreater(max(r["hidden_change"] for r in moved), 1e-3)
        at_slot = self.json_lines(*look, "--shifts", "0,3", "--feature-at", "slot")
        self.assertEqual(at_slot[0]["loss"], rows[0]["loss"])
        self.assertNotEqual(at_slot[1]["head_change"], self.json_lines(*look, "--shifts", "3")[0]["head_change"])

        self.write("bare.jsonl", b'{"text": "abc"}\n{"text": "fedcba"}\n')
        bare = self.json_lines("inspect", "rolling", "model", "--data", "bare.jsonl", "--unlabelled", "--quiet")
        self.assertNotIn("loss", bare[0])
        self.assertGreater(bare[1]["hidden_change"], 0)
        text = self.succeed(*look).stdout.decode()
        for part in ["classification with diffuser", "12 examples", "shift", "accuracy", "rolled round their own length"]:
            self.assertIn(part, text)

        for arguments, part in [(["--data", "bare.jsonl"], "bare.jsonl:1: has no field 'label'"),
                                ([], "a model needs --data"),
                                (["--data", "train.jsonl", "--shifts", "37"], "--shifts: expected numbers from 0 to 33"),
                                (["--data", "train.jsonl", "--slots", "65"], "the model has learnt 64 positions, got 65 slots"),
                                (["--data", "train.jsonl", "--slots", "20"], "tokens, but there are 20 slots"),
                                (["--data", "train.jsonl", "--n", "48"], "--n: of one layer")]:
            self.refuse("inspect", "rolling", "model", "--quiet", *arguments, containing=[part])
        self.refuse("inspect", "rolling", "--data", "train.jsonl", "--quiet", containing=["--data: examples and settings of a model, but no MODEL"])

    def test_a_model_of_hidden_tokens(self):
        self.model("masked_language", "--attention", "softmax")
        first, second = self.json_lines("inspect", "rolling", "model", "--data", "train.jsonl", "--unlabelled", "--shifts", "0,4", "--quiet")
        self.assertIn("bits_per_token", first)
        self.assertGreater(second["head_change"], 0)
        self.refuse("inspect", "rolling", "model", "--data", "train.jsonl", "--roll-pattern", "all", "--quiet",
                    containing=["the attention softmax has no pattern that could be rolled too"])

    def test_text_and_chart(self):
        out = self.succeed("inspect", "rolling", *SMALL, "--pattern", "window_band+global", "--svg", "r.svg").stdout.decode()
        for part in ["diffuser, 48 tokens", "shift", "window_band+global", "16"]:
            self.assertIn(part, out)
        with open(self.path("r.svg")) as file:
            root = xml.etree.ElementTree.fromstring(file.read())
        self.assertTrue(root.tag.endswith("svg"))

    def test_refused(self):
        for arguments, part in [(["--pattern", "windows"], "unknown pattern 'windows'"),
                                (["--attention", "local", "--pattern", "full"], "only the attention diffuser"),
                                (["--attention", "local", "--roll-pattern", "all"], "only the attention diffuser has a pattern"),
                                (["--pattern", "window_band", "--roll-pattern", "global"], "has no global tokens to be rolled"),
                                (["--shifts", "48"], "--shifts: expected numbers from 0 to 47"),
                                (["--attention", "lavo", "--set", "rr=1"], "unknown field 'rr'"),
                                (["--svg", self.write("a.txt", b"text")], "a.txt")]:
            self.refuse("inspect", "rolling", *SMALL, *arguments, containing=[part])


if __name__ == "__main__":
    harness.main()
