"""longspan inspect spectrum, tradeoff and contraction: numbers, files, and what is refused."""

import csv
import os
import xml.etree.ElementTree

import harness

PATTERN = ["--pattern", "window_overlap+random", "--n", "256", "--set", "w=16", "--set", "r=4", "--quiet"]


class SpectrumTest(harness.ProgramTest):
    def look(self, *arguments):
        found, = self.json_lines("inspect", "spectrum", *arguments, "--quiet")
        return found

    def is_picture(self, name):
        root = xml.etree.ElementTree.parse(self.path(name)).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        return "".join(root.itertext())

    def test_complete_graph(self):
        found = self.look("--pattern", "full", "--n", "16", "--loops", "off", "--hops", "2", "--alpha", "0.5")
        self.assertEqual((found["degree_min"], found["degree_max"], found["components"]), (15, 15, 1))
        self.assertAlmostEqual(found["lambda_2"]["value"], 16 / 15)
        self.assertAlmostEqual(found["lambda_max"]["value"], 16 / 15)
        self.assertAlmostEqual(found["beta"], 1 / 15)
        self.assertEqual(found["expander_ratio"], found["beta"])
        self.assertEqual(len(found["eigenvalues"]), 16)
        self.assertEqual(found["reach"], {"queries": 16, "mean": [1, 1], "least": [1, 1], "hops_to_all": 1})
        by_kind = {entry["diffusion"]: entry for entry in found["responses"]}
        self.assertEqual(set(by_kind), {"ppr_iterate", "ppr_truncated", "heat", "single"})
        self.assertEqual(by_kind["ppr_iterate"]["weights"], [0.5, 0.25, 0.25])
        self.assertAlmostEqual(by_kind["single"]["at_lambda_2"], -1 / 15)

    def test_both_solvers_agree(self):
        dense = self.look(*PATTERN)
        self.assertEqual(dense["lambda_2"]["products"], 0)
        larger = self.look("--pattern", "window_overlap+random", "--n", "2049", "--set", "w=16", "--set", "r=4")
        self.assertEqual(larger["eigenvalues"], [])
        self.assertTrue(larger["lambda_2"]["converged"] and larger["lambda_max"]["converged"])
        self.assertGreater(larger["lambda_2"]["products"], 10)
        self.assertLess(abs(larger["beta"] - dense["beta"]), 0.1, "the degree counts, not the length")

    def test_mixing_stays_below_its_bound(self):
        mixing = self.look(*PATTERN)["mixing"]
        self.assertLessEqual(mixing["worst"]["mixing_time"], mixing["bound"])
        self.assertLessEqual(mixing["typical"]["mixing_time"], mixing["worst"]["mixing_time"])
        self.assertEqual(len(self.look(*PATTERN, "--steps", "2")["mixing"]["worst"]["distance"]), 3)

    def test_files(self):
        self.succeed("inspect", "spectrum", *PATTERN, "--csv", "e.csv", "--svg", "e.svg", "--mixing-svg", "m.svg",
                     "--response-svg", "r.svg")
        with open(self.path("e.csv")) as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 256)
        self.assertAlmostEqual(float(rows[0]["eigenvalue"]), 0)
        self.assertAlmostEqual(float(rows[0]["ppr_iterate"]), 1)
        self.assertIn("lambda max", self.is_picture("e.svg"))
        self.assertIn("bound", self.is_picture("m.svg"))
        self.assertIn("heat", self.is_picture("r.svg"))
        self.succeed("inspect", "spectrum", *PATTERN, "--csv", "e.csv")  # replaces its own

    def test_graphs_without_connection(self):
        parts = self.look("--pattern", "window_block", "--n", "40", "--set", "b=8", "--steps", "5")
        self.assertEqual(parts["components"], 5)
        self.assertAlmostEqual(parts["lambda_2"]["value"], 0)
        self.assertAlmostEqual(parts["beta"], 1)
        self.assertIsNone(parts["mixing"]["bound"])
        for n in (0, 1):
            alone = self.look("--pattern", "full", "--n", n)
            self.assertEqual((alone["lambda_2"], alone["mixing"], len(alone["eigenvalues"])), (None, None, n))
            self.assertIn("no second eigenvalue",
                          self.succeed("inspect", "spectrum", "--pattern", "full", "--n", n).stdout.decode())
        self.write("edges.txt", b"0 1\n3 2\n")
        own = self.look("--edges", "edges.txt", "--n", "6", "--set", "self_loops=false")
        self.assertEqual((own["components"], own["isolated"]), (4, 2))

    def test_refused(self):
        for arguments, part in [(["--pattern", "full", "--n", "9", "--loops", "some"], "--loops"),
                                (["--pattern", "full", "--n", "3000", "--svg", "e.svg"], "up to 2048 tokens, got 3000"),
                                (["--pattern", "full"], "--n"),
                                (["--pattern", "full", "--n", "9", "--delta", "0"], "--delta"),
                                (["--pattern", "full", "--n", "9", "--csv", self.write("a.txt", b"text")], "--csv"),
                                (["--pattern", "random", "--n", "2000000000", "--set", "r=1000000"], "would need")]:
            self.refuse("inspect", "spectrum", *arguments, containing=[part])


class TradeoffTest(harness.ProgramTest):
    SMALL = ["--n", "256", "--figure-n", "64", "--heads", "1", "--head-dim", "8", "--min-seconds", "0", "--quiet",
             "--pattern", "window_overlap:w=16", "--pattern", "window_overlap:w=32",
             "--pattern", "window_overlap+random:w=16,r=4"]

    def test_rows(self):
        rows = self.json_lines("inspect", "tradeoff", *self.SMALL)
        self.assertEqual([row["settings"] for row in rows], ["w=16", "w=32", "w=16,r=4"])
        self.assertLess(rows[0]["density"], rows[1]["density"])
        self.assertGreater(rows[0]["beta"], rows[1]["beta"])
        self.assertGreater(rows[1]["beta"], rows[2]["beta"], "random keys connect")
        for row in rows:
            self.assertGreater(row["us_per_token_forward_backward"], 0)
            self.assertTrue(row["converged"])

    def test_folder(self):
        self.succeed("inspect", "tradeoff", *self.SMALL, "--out", "study")
        self.assertEqual(sorted(set(os.listdir(self.path("study"))) - {"made-by.json"}),
                         ["density.svg", "eigenvalues.csv", "eigenvalues.svg", "index.html", "time.svg", "tradeoff.csv"])
        with open(self.path("study/eigenvalues.csv")) as file:
            rows = list(csv.reader(file))
        self.assertEqual((len(rows), len(rows[0])), (65, 5))
        with open(self.path("study/tradeoff.csv")) as file:
            self.assertEqual(len(list(csv.DictReader(file))), 3)
        self.refuse("inspect", "tradeoff", *self.SMALL, "--out", "study", containing=["--overwrite"])

    def test_refused(self):
        for pattern, part in [(":w=3", "NAME"), ("full:w=4", "does not use w"), ("windows", "unknown pattern"),
                              ("window_overlap:w", "--set")]:
            self.refuse("inspect", "tradeoff", "--pattern", pattern, "--out", "never", containing=[part])


class ContractionTest(harness.ProgramTest):
    def train(self, attention, *settings):
        self.write("text.txt", harness.text(6000, 1))
        self.succeed("prepare", "text.txt", "--out", "data", "--overwrite", "--quiet")
        self.succeed("train", "data", "--out", attention, "--attention", attention, "--steps", "2", "--quiet", *harness.TINY,
                     *settings)
        return attention

    def test_diffuser(self):
        model = self.train("diffuser", "--set", "model.attention_options.w=8", "--set", "model.attention_options.hops=3")
        arguments = ["inspect", "contraction", model, "--text", "text.txt", "--positions", "48", "--quiet"]
        heads = self.json_lines(*arguments, "--svg", "c.svg")
        self.assertEqual([(head["layer"], head["head"]) for head in heads], [(0, 0), (0, 1), (1, 0), (1, 1)])
        for head in heads:
            self.assertEqual(head["pattern"], "causal_self")
            self.assertAlmostEqual(sum(head["weights"]), 1)
            self.assertLessEqual(head["mean_distance"], head["tau"])
            for bound, measured in zip(head["bound"], head["measured"]):
                self.assertLessEqual(measured, bound + 1e-9)
        out = self.succeed(*arguments).stdout.decode()
        for part in ["tau", "mean distance", "positions 0 to 47"]:
            self.assertIn(part, out)

    def test_other_attentions(self):
        for attention in ("softmax", "local"):
            for head in self.json_lines("inspect", "contraction", self.train(attention), "--text", "text.txt", "--positions",
                                        "40", "--quiet"):
                self.assertIsNone(head["bound"])
                self.assertLessEqual(0, head["tau"])
                self.assertLessEqual(head["tau"], 1 + 1e-12)
        self.refuse("inspect", "contraction", self.train("lavo", "--set", "model.attention_options.r=4"), "--text", "text.txt",
                    containing=["no matrix of weights"])
        self.refuse("inspect", "contraction", "softmax", "--text", "text.txt", "--from", "5990", "--quiet",
                    containing=["--from and --positions ask for 6246"])


if __name__ == "__main__":
    harness.main()
