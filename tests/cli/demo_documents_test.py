"""longspan demo-documents in miniature: what it writes, and what it refuses."""

import json
import os
import pathlib
import shutil
import sys

import harness
import pages

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import document_tasks  # noqa: E402

NAMES = {"diffuser", "single-hop", "longformer", "bigbird", "softmax"}


def letters(number):
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def author(letter):
    return {split: [" ".join(f"{letter}{split[:2]}{letters(i)}" for i in range(100))] for split in document_tasks.SPLITS}


class DemoDocumentsTest(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        for name, value in {"PASSAGE": {"author": 6, "near": 6, "middle": 6, "pairs": 6}, "BETWEEN": {"near": 12, "middle": 20, "pairs": 40},
                            "AUTHOR": {"train": 12, "valid": 4, "test": 6},
                            "PAIRS": {task: {"train": 3, "valid": 1, "test": 2} for task in ["near", "middle", "pairs"]}}.items():
            self.addCleanup(setattr, document_tasks, name, getattr(document_tasks, name))
            setattr(document_tasks, name, value)
        authors = {"x": author("x"), "y": author("y")}
        manuals = {split: [" ".join("m" + letters(i) for i in range(300))] for split in document_tasks.SPLITS}
        data = pathlib.Path(self.path("data"))
        document_tasks.write(data, "author", document_tasks.author_documents(authors))
        for task in ["near", "middle", "pairs"]:
            document_tasks.write(data, task, document_tasks.pair_documents(task, authors, manuals))
        sources = [{"package": "letters", "version": "1.0", "licence": "none needed"}]
        (data / "sources.json").write_text(json.dumps({"passage_words": document_tasks.PASSAGE, "sources": sources}))
        (data / "tokenizer.json").write_text(json.dumps({"tokenizer": "bytes"}))

    def test_metrics_and_report(self):
        metrics, = self.json_lines("demo-documents", "--data", "data", "--out", "out", "--steps", "2", "--max-length", "1024",
                                   "--quiet")
        with open(self.path("out/metrics.json")) as file:
            self.assertEqual(json.load(file), metrics)
        self.assertEqual(set(metrics["tasks"]), {"author", "near", "middle", "pairs"})
        for task in metrics["tasks"].values():
            self.assertEqual(set(task["attentions"]), NAMES)
            for seeds in task["attentions"].values():
                self.assertEqual([score["seed"] for score in seeds], [0])
                self.assertTrue(0 <= seeds[0]["test"] <= 1)
                self.assertEqual([step for step, _ in seeds[0]["valid"]], [1, 2])
            parameters = [seeds[0]["parameters"] for seeds in task["attentions"].values()]
            self.assertLess(max(parameters) / min(parameters), 1.001)
        pairs = metrics["tasks"]["pairs"]
        self.assertEqual(pairs["documents"], {"train": 12, "valid": 4, "test": 8})
        self.assertEqual(pairs["yardsticks"]["bag of words"], 0.25)  # siblings have the same words
        self.assertIn("softmax on the first 512 tokens", pairs["yardsticks"])
        self.assertEqual(pairs["chance"], 0.25)
        words = sum(len(f"m{i}") + 1 for i in range(28))  # 40 words are between: 12 of passages, of at most 6 bytes
        self.assertTrue(words <= pairs["least_tokens_between"] <= 40 * 7)
        self.assertEqual(set(metrics["costs"]), NAMES)
        self.assertEqual(set(metrics["costs"]["softmax"]), {"1024"})

        with open(self.path("out/report.html"), encoding="utf-8") as file:
            page = file.read().replace('xmlns="http://www.w3.org/2000/svg"', "")  # a name that nobody asks for
        for part in ["<svg", "Diffuser, 5 hops", "BigBird pattern", "bag of words", "letters", "LibTorch",
                     "longspan demo-documents --data data", "Time of a training step"]:
            self.assertIn(part, page)
        for outside in ["http:", "https:", "src=", "<script"]:
            self.assertNotIn(outside, page)
        if pages.available():
            pages.look_at(self, self.path("out/report.html"))

        # Its own folder, and no other.
        self.refuse("demo-documents", "--data", "data", "--out", "out", "--steps", "2", "--quiet",
                    containing=["--out: 'out' holds the results of an earlier longspan demo-documents", "--overwrite"])
        os.mkdir(self.path("mine"))
        self.write("mine/report.html", b"<p>mine</p>")
        self.refuse("demo-documents", "--data", "data", "--out", "mine", "--overwrite", "--quiet",
                    containing=["--out: 'mine' holds something else than results of longspan demo-documents"])
        with open(self.path("out/made-by.json")) as file:
            self.assertEqual(json.load(file)["command"], "demo-documents")

    def test_wrong_input(self):
        self.refuse("demo-documents", "--quiet", containing=["--data"])
        self.refuse("demo-documents", "--data", "missing", "--quiet", containing=["--data: missing/sources.json is missing; scripts/fetch-documents.sh"])
        self.refuse("demo-documents", "--data", "data", "--out", "", "--quiet", containing=["--out"])
        with open(self.path("data/pairs/train.jsonl"), "a") as file:
            file.write('{"text": "a"}\n')
        self.refuse("demo-documents", "--data", "data", "--quiet",
                    containing=["data/pairs/train.jsonl:13: has no field 'label', only: text"])
        shutil.rmtree(self.path("data/author"))
        self.refuse("demo-documents", "--data", "data", "--quiet", containing=["data/author/train.jsonl"])
        os.unlink(self.path("data/tokenizer.json"))
        self.refuse("demo-documents", "--data", "data", "--quiet", containing=["tokenizer"])


if __name__ == "__main__":
    harness.main()
