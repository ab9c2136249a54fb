"""longspan demo in miniature: what it writes, and what it refuses."""

import json
import os

import harness
import pages


class DemoTest(harness.ProgramTest):
    def test_metrics_and_report_of_a_text_of_ones_own(self):
        self.write("mine.txt", harness.text(40000, 7))
        metrics, = self.json_lines("demo", "--out", "out", "--text", "mine.txt", "--steps", "2", "--max-length", "1024", "--quiet")
        with open(self.path("out/metrics.json")) as file:
            self.assertEqual(json.load(file), metrics)
        names = {"lavo", "local", "softmax"}
        self.assertEqual(set(metrics["bits_per_byte"]), names)
        self.assertEqual(set(metrics["training"]), names)
        self.assertEqual(set(metrics["speedup_forward_backward"]), names - {"softmax"})
        for name in names:
            self.assertTrue(0 < metrics["bits_per_byte"][name]["1024"] < 9)
            training = metrics["training"][name]
            self.assertEqual(training["tokens"], 2 * 2 * 1024)
            for field in ["tokens_per_second", "seconds", "parameters"]:
                self.assertGreater(training[field], 0)
        parameters = [metrics["training"][name]["parameters"] for name in names]
        self.assertLess(max(parameters) / min(parameters), 1.001)
        self.assertGreater(metrics["speedup_forward_backward"]["lavo"]["1024"], 0)
        self.assertEqual(set(metrics["memory_effect"]), {"zero", "mean", "swap"})
        for cost in ["us_per_token_forward_backward", "us_per_token_streaming", "state_bytes"]:
            for name in names:
                self.assertGreater(min(metrics[cost][name].values()), 0)
        self.assertEqual(set(metrics["us_per_token_streaming"]["lavo"]), {"16", "64", "256", "1024"})
        self.assertEqual(set(metrics["bytes_per_token_forward_backward"]) - names, set())
        self.assertEqual(set(metrics["recall"]["accuracy"]), names | {"lavo_selective"})
        for by_length in metrics["recall"]["accuracy"].values():
            self.assertEqual(set(by_length), {"256", "1024"})
        for cost in ["time_forward_backward", "memory_forward_backward", "time_streaming", "state"]:
            self.assertLessEqual(set(metrics["break_even"][cost]), {"lavo", "local"})
        self.assertEqual(len(metrics["training_curves"]["softmax"]["0"]["mean"]), 2)
        self.assertEqual(metrics["command"].split()[1:4], ["demo", "--out", "out"])
        self.assertEqual(set(metrics["stage_seconds"]),
                         {what + label for what in ["train ", "evaluate "] for label in ["LAVO", "local window", "softmax + RoPE"]} |
                         {"recall", "operators", "streams"})
        self.assertLess(sum(metrics["stage_seconds"].values()), metrics["seconds"])
        self.assertLessEqual(set(metrics["compressors"]), {"gzip -9", "xz -9"})
        self.assertAlmostEqual(metrics["held_out"]["bytes"], 4000, delta=20)

        with open(self.path("out/report.html"), encoding="utf-8") as file:
            page = file.read().replace('xmlns="http://www.w3.org/2000/svg"', "")  # a name that nobody asks for
        for part in ["<svg", "LAVO", "softmax + RoPE", "Does the memory matter?", "A task that needs a memory", "mine.txt", "train.learning_rate", "LibTorch",
                     "longspan demo --out out", "What the memory holds and where it is read",
                     "LAVO breaks even" if "breaks even" in page else "LAVO costs"]:
            self.assertIn(part, page)
        for outside in ["http:", "https:", "src=", "<script"]:
            self.assertNotIn(outside, page)
        for name in names:
            self.assertTrue(os.path.exists(self.path(f"out/models/{name}/model.safetensors")))
        if pages.available():
            pages.look_at(self, self.path("out/report.html"))

    def test_only_its_own_folder(self):
        self.write("mine.txt", harness.text(40000, 7))
        os.makedirs(self.path("models/lavo"))
        self.write("models/lavo/model.safetensors", b"weeks of training")
        self.write("report.html", b"<p>mine</p>")
        self.refuse("demo", "--out", ".", "--text", "mine.txt", "--overwrite", "--quiet",
                    containing=["--out: '.' holds something else than results of longspan demo; give another folder"])

    def test_wrong_input(self):
        self.write("short.txt", b"abc")
        self.write("good.txt", harness.text(40000, 1))
        self.refuse("demo", "--quiet", containing=["--text", "--held-out"])
        self.refuse("demo", "--quiet", "--text", "missing.txt", containing=["missing.txt"])
        self.refuse("demo", "--quiet", "--text", "short.txt", containing=["short.txt", "3"])
        self.refuse("demo", "--quiet", "--train", "good.txt", containing=["--held-out"])
        self.refuse("demo", "--quiet", "--train", "good.txt", "--held-out", "missing.txt", containing=["missing.txt"])
        self.refuse("demo", "--quiet", "--train", "good.txt", "--held-out", "short.txt", containing=["short.txt"])
        self.refuse("demo", "--quiet", "--train", "good.txt", "--held-out", "good.txt", containing=["good.txt", "trained on at once"])
        self.refuse("demo", "--quiet", "--text", "good.txt", "--max-length", "512", containing=["512", "1024"])


if __name__ == "__main__":
    harness.main()
