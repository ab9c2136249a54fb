"""longspan study: cells that are files, resumed after a kill, and what is made of them."""

import csv
import glob
import json
import os
import signal
import subprocess
import time

import harness
import pages

TINY = ["--set", "recall.keys=16", "--set", "recall.values=16", "--set", "recall.fillers=4", "--set", "recall.pairs=4", "--set",
        "recall.stages=2", "--set", "model.layers=1", "--set", "model.width=16", "--set", "model.heads=2", "--set", "model.feed_forward=16",
        "--set", "train.length=32", "--set", "train.batch=2", "--set", "train.warmup=2"]
GRID = ["--pairs", "2,4", "--lengths", "32,64", "--questions", "32", "--span", "16", "--threads", "2", "--quiet"]
TWO = ["--variant", "window=local,w=4", "--variant", "all=softmax,rope=true"]


def study(*arguments, steps=4):
    return ["study", "recall", "--out", "out", *TWO, *TINY, "--set", "train.steps=%d" % steps, *GRID, *arguments]


class RecallStudyTest(harness.ProgramTest):
    def results(self):
        with open(self.path("out/results.json")) as file:
            return json.load(file)

    def test_tables_page_and_files(self):
        rows = self.json_lines(*study("--seeds", "2"))
        self.assertEqual(sorted(row["cell"] for row in rows[:-1]), ["all.seed0", "all.seed1", "window.seed0", "window.seed1"])
        results = self.results()
        self.assertEqual(rows[-1], results)
        self.assertEqual([variant["name"] for variant in results["variants"]], ["window", "all"])
        for variant in results["variants"]:
            self.assertEqual([run["seed"] for run in variant["runs"]], [0, 1])
            for mean in variant["means"]:
                values = [score["accuracy"] for run in variant["runs"] for score in run["scores"]
                          if (score["pairs"], score["length"]) == (mean["pairs"], mean["length"])]
                self.assertAlmostEqual(mean["accuracy"], sum(values) / 2)
                self.assertAlmostEqual(mean["standard_error"], abs(values[0] - values[1]) / 2)
                self.assertEqual(mean["seeds"], 2)
        window, full = results["variants"]
        self.assertEqual(window["state_bytes"]["32"], window["state_bytes"]["64"])
        self.assertLess(full["state_bytes"]["32"], full["state_bytes"]["64"])
        with open(self.path("out/results.csv")) as file:
            lines = list(csv.DictReader(file))
        self.assertEqual(len(lines), 2 * 2 * 4)
        self.assertEqual(lines[0]["memory"], "window")
        with open(self.path("out/report.html"), encoding="utf-8") as file:
            page = file.read().replace('xmlns="http://www.w3.org/2000/svg"', "")
        for part in ["<svg", "Accuracy for its state", "window", "bytes of state a head", "longspan study recall"]:
            self.assertIn(part, page)
        for outside in ["http:", "https:", "src=", "<script"]:
            self.assertNotIn(outside, page)
        if pages.available():
            pages.look_at(self, self.path("out/report.html"))
        # The same command finds every cell done, and tells the same; more seeds add to it.
        before = {name: os.stat(name).st_mtime_ns for name in glob.glob(self.path("out/cells/*.json"))}
        text = self.succeed(*study("--seeds", "2", "--markdown")).stdout.decode()
        self.assertIn("| memory | state a head | parameters | K = 2 | K = 4 |", text)
        self.assertIn("`longspan study recall", text)
        self.succeed(*study("--seeds", "3"))
        self.assertEqual(self.results()["variants"][0]["means"][0]["seeds"], 3)
        for name, time_written in before.items():
            self.assertEqual(os.stat(name).st_mtime_ns, time_written, name)

    def test_the_number_of_jobs_changes_nothing(self):
        arguments = study("--jobs", "1")
        arguments[arguments.index("--threads") + 1] = "1"
        self.succeed(*arguments)
        alone = self.results()
        self.succeed(*study("--jobs", "2", "--overwrite"))  # of two threads: one each
        for one, other in zip(alone["variants"], self.results()["variants"]):
            self.assertEqual(one["means"], other["means"])

    def test_a_killed_study_goes_on(self):
        arguments = study("--seeds", "2", "--jobs", "1", steps=800)
        process = subprocess.Popen([harness.PROGRAM, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        first = self.path("out/cells/window.seed0.json")
        while not os.path.exists(first) and process.poll() is None:
            time.sleep(0.02)
        process.kill()
        process.wait()
        done = glob.glob(self.path("out/cells/*.json"))
        self.assertTrue(0 < len(done) < 4, done)
        self.assertFalse(os.path.exists(self.path("out/results.json")))
        written = os.stat(first).st_mtime_ns
        time.sleep(1)  # its processes end with it
        self.succeed(*arguments)
        self.assertEqual(os.stat(first).st_mtime_ns, written)
        resumed = self.results()
        self.succeed(*["whole" if word == "out" else word for word in arguments])
        with open(self.path("whole/results.json")) as file:
            whole = json.load(file)
        for one, other in zip(resumed["variants"], whole["variants"]):
            self.assertEqual(one["means"], other["means"])

    def test_interrupted(self):
        process = subprocess.Popen([harness.PROGRAM, *study(steps=100000)], cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        while not os.path.exists(self.path("out/study.json")) and process.poll() is None:
            time.sleep(0.02)
        time.sleep(1)
        second = self.run_program(*study(steps=100000))
        self.assertEqual(second.returncode, 1)
        self.assertIn(b"out: another run is at work in this folder", second.stderr)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 130)
        process.stderr.close()
        self.assertEqual(glob.glob(self.path("out/cells/*.json")), [])

    def test_search(self):
        self.succeed(*study("--search", "learning_rate=1e-6,1e-2", steps=30))
        for variant in self.results()["variants"]:
            self.assertEqual([point["setting"] for point in variant["search"]], ["learning_rate=1e-6", "learning_rate=1e-2"])
            losses = [point["loss"] for point in variant["search"]]
            self.assertEqual(variant["chosen"], "learning_rate=" + ("1e-6" if losses[0] < losses[1] else "1e-2"))
        # The chosen cell of the first seed is that of the search.
        self.assertEqual(len(glob.glob(self.path("out/cells/*.json"))), 4)

    def test_a_search_survives_a_setting_that_diverges(self):
        # A learning rate times decay of 5 multiplies every matrix by -4 a step: products of them leave float32 within 60.
        large = ["--set", "train.schedule=constant", "--set", "train.learning_rate=0.5"]
        search = study(*large, "--search", "weight_decay=10,0", steps=60)
        self.succeed(*search)
        for variant in self.results()["variants"]:
            self.assertEqual(variant["chosen"], "weight_decay=0")
            self.assertIsNone(variant["search"][0]["loss"])
        self.assertIn("diverged", self.succeed(*search, "--markdown").stdout.decode())
        # Where nothing else was tried there is no result.
        failed = self.run_program(*study(*large, "--set", "train.weight_decay=10", "--overwrite", "--jobs", "1", steps=60))
        self.assertEqual(failed.returncode, 1)
        self.assertIn(b"the cell 'window.seed0'", failed.stderr)
        self.assertIn(b"not finite", failed.stderr)

    def test_one_cell_by_itself(self):
        self.succeed(*study())
        os.remove(self.path("out/cells/all.seed0.json"))
        before = self.results()
        rows = self.json_lines("study", "cell", "out", "all.seed0", "--threads", "1")
        self.assertEqual(rows[-1]["cell"], "all.seed0")
        self.succeed(*study())
        self.assertEqual(self.results()["variants"][1]["means"], before["variants"][1]["means"])
        self.refuse("study", "cell", "out", "al.seed0", containing=["al.seed0", "all.seed0"])
        self.refuse("study", "cell", "nowhere", "a", containing=["nowhere"])

    def test_models_are_kept(self):
        self.succeed(*study("--keep-models"))
        cell, = self.json_lines("recall", "eval", "out/models/all.seed0", "--pairs", "4", "--lengths", "64", "--questions", "32", "--span", "16",
                                "--quiet", "--threads", "1")
        score, = [score for score in self.results()["variants"][1]["runs"][0]["scores"] if (score["pairs"], score["length"]) == (4, 64)]
        self.assertEqual(cell["accuracy"], score["accuracy"])
        # The folder may be called otherwise, or moved: cells are the same ones.
        cells = glob.glob(self.path("out/cells/*.json"))
        before = {name: os.stat(name).st_mtime_ns for name in cells}
        self.succeed(*["./out" if word == "out" else word for word in study("--keep-models")])
        self.assertEqual({name: os.stat(name).st_mtime_ns for name in cells}, before)
        # A try that was stopped leaves checkpoints that the next one does not take for its own.
        os.remove(self.path("out/cells/all.seed0.json"))
        os.makedirs(self.path("out/models/all.seed0/checkpoints/step-99"))
        self.succeed(*study("--keep-models"))
        self.assertFalse(os.path.exists(self.path("out/models/all.seed0/checkpoints/step-99")))

    def test_wrong_input(self):
        for arguments, parts in [
                (["--variant", "x"], ["--variant", "NAME=attention"]),
                (["--variant", "a/b=local"], ["--variant", "a/b"]),
                (["--variant", "a=local", "--variant", "a=softmax"], ["'a' twice"]),
                (["--variant", "a=locall"], ["locall", "local"]),
                (["--variant", "a=local,ww=3"], ["ww", "w"]),
                (["--variant", "a=local,w"], ["option=value"]),
                (["--variant", "a=local,model.wdth=3"], ["wdth", "width"]),
                (["--search", "learning_rate"], ["--search"]),
                (["--search", "learning_rat=1,2", "--variant", "a=local"], ["learning_rat"]),
                (["--search", "learning_rate=a/b"], ["--search", "a/b"]),
                (["--preset", "qick"], ["--preset", "qick"]),
                (["--pairs", "0"], ["--pairs"]),
                (["--pairs", "200", "--variant", "a=local"], ["pairs", "128"]),
                (["--at", "16", "--variant", "a=local"], ["--at"]),
                (["--at", "5,4096", "--variant", "a=local"], ["--at", "5"]),
                (["--seeds", "0"], ["--seeds"]),
                (["--markdown", "--json"], ["--markdown"])]:
            with self.subTest(arguments):
                self.refuse("study", "recall", "--out", "o", *arguments, containing=parts)
        self.write("mine.txt", b"mine")
        self.refuse("study", "recall", "--out", ".", "--variant", "a=local", containing=["'.' holds something else"])
        self.succeed(*study())
        self.assertIn(b"another configuration", self.run_program(*study(steps=5)).stderr)
        self.assertEqual(self.run_program(*study(steps=5)).returncode, 2)
        for name in ["results.json", "results.csv", "report.html"]:
            self.assertTrue(os.path.exists(self.path("out/" + name)), "a study that was refused leaves " + name)


class TextStudyTest(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("train"))
        os.makedirs(self.path("held-out"))
        self.write("train/a.txt", harness.text(60000, 1))
        self.write("train/b.txt", harness.text(30000, 2))
        self.write("held-out/one.txt", harness.text(12000, 3))
        self.write("held-out/two.txt", harness.text(9000, 4))

    def arguments(self, *more):
        return ["study", "text", "--train", "train", "--held-out", "held-out", "--out", "out", "--quick", "--set", "train.steps=4", "--blocks",
                "2", "--threads", "2", "--quiet", "--variant", "window=local,w=8", "--variant", "mean=lavo,r=16,w=8", "--variant",
                "all=softmax,rope=true", *more]

    def test_equal_parameters_and_whole_documents(self):
        rows = self.json_lines(*self.arguments("--seeds", "2"))
        results = rows[-1]
        parameters = [variant["parameters"] for variant in results["variants"]]
        self.assertLess(max(parameters) / min(parameters), 1.01)
        self.assertEqual(results["parameter_spread"], (max(parameters) - min(parameters)) / min(parameters))
        self.assertEqual([document["name"] for document in results["held_out"]], ["one", "two"])
        self.assertEqual(results["train_bytes"], 88200)  # but for the validation's part
        for variant in results["variants"]:
            for mean in variant["means"]:
                values = []
                for run in variant["runs"]:
                    scores = [score for score in run["scores"] if score["length"] == mean["length"]]
                    self.assertEqual([(score["document"], score["blocks"]) for score in scores], [("one", 2), ("two", 2)])
                    values.append(sum(score["bits_per_byte"] for score in scores) / 2)
                self.assertAlmostEqual(mean["bits_per_byte"], sum(values) / 2)
            self.assertEqual("difference" in variant["means"][0], variant["name"] != "window")
        window, mean = results["variants"][:2]
        self.assertAlmostEqual(mean["means"][0]["difference"], mean["means"][0]["bits_per_byte"] - window["means"][0]["bits_per_byte"])
        if pages.available():
            pages.look_at(self, self.path("out/report.html"))
        text = self.succeed(*self.arguments("--seeds", "2", "--markdown")).stdout.decode()
        self.assertIn("| memory | 1K | 4K |", text)

    def test_all_tokens_are_compared_with_the_widest_window(self):
        arguments = self.arguments("--windows", "16,8", "--lengths", "1024", "--set", "train.steps=1")
        while "--variant" in arguments:
            del arguments[arguments.index("--variant"):arguments.index("--variant") + 2]
        results = self.json_lines(*arguments)[-1]
        self.assertEqual({variant["name"]: variant["baseline"] for variant in results["variants"]},
                         {"softmax": "local-16", "local-8": "", "mean-8": "local-8", "selective-8": "local-8", "local-16": "",
                          "mean-16": "local-16", "selective-16": "local-16"})

    def test_other_text_is_another_study(self):
        self.succeed(*self.arguments())
        self.write("train/a.txt", harness.text(60000, 9))
        result = self.run_program(*self.arguments())
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"another configuration", result.stderr)
        self.refuse("study", "cell", "out", "window.seed0", containing=["other text"])
        self.succeed(*self.arguments("--overwrite"))

    def test_wrong_input(self):
        self.write("short.txt", harness.text(3000, 3))
        self.write("little.txt", harness.text(40000, 5))
        for arguments, parts in [
                (["--held-out", "held-out"], ["--train"]),
                (["--train", "train"], ["--held-out"]),
                (["--train", "missing", "--held-out", "held-out"], ["missing"]),
                (["--train", "train", "--held-out", "short.txt", "--quick"], ["short.txt", "3000", "4097"]),
                (["--train", "train", "--held-out", "train/a.txt", "--quick"], ["a.txt"]),
                (["--train", "little.txt", "--held-out", "held-out", "--quick", "--set", "train.length=2048"], ["--train", "2 %", "2049"]),
                (["--train", "train", "--held-out", "held-out", "--lengths", "512"], ["--lengths", "512"])]:
            with self.subTest(arguments):
                result = self.run_program("study", "text", "--out", "o", "--quiet", *arguments)
                self.assertEqual(result.returncode, 2)
                for part in parts:
                    self.assertIn(part, result.stderr.decode())


if __name__ == "__main__":
    harness.main()
