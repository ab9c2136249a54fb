"""prepare: streams, archives, folders, interrupts, memory; and the whole program on a SentencePiece model."""

import gzip
import lzma
import os
import resource
import shutil
import signal
import subprocess
import threading
import time

import harness
from harness import TINY_LAVO


def counts(rows):
    return {row["split"]: (row["tokens"], row["source_bytes"], row["documents"]) for row in rows}


class StreamTest(harness.ProgramTest):
    def prepare(self, *arguments, **options):
        return counts(self.json_lines("prepare", *arguments, "--quiet", **options))

    def test_a_file_its_archives_and_standard_input_give_the_same(self):
        text = harness.text(100000, 1)
        self.write("a.txt", text)
        self.write("a.txt.gz", gzip.compress(text[:60000]) + gzip.compress(text[60000:]))
        self.write("packed", lzma.compress(text))
        rows = self.prepare("a.txt", "--out", "plain")
        for out, source, stdin in [("gz", "a.txt.gz", b""), ("xz", "packed", b""), ("pipe", "-", text)]:
            self.assertEqual(self.prepare(source, "--out", out, stdin=stdin), rows)
            for name in os.listdir(self.path("plain")):
                with open(self.path("plain/" + name), "rb") as a, open(self.path(out + "/" + name), "rb") as b:
                    self.assertEqual(a.read(), b.read(), name)

    def test_folders_fractions_and_documents(self):
        os.makedirs(self.path("in/deeper"))
        self.write("in/deeper/a.txt", b"\n".join(b"%d %s" % (i, harness.text(40, i)) for i in range(2000)))
        self.write("in/b.txt", harness.text(5000, 1))
        rows = self.prepare("in", "--out", "data", "--documents", "line", "--split-by", "document", "--test-fraction", "0.2", "--seed", "3")
        self.assertEqual(set(rows), {"train", "valid", "test"})
        self.assertEqual(sum(row[2] for row in rows.values()), 2001)
        again = self.prepare("in", "--out", "again", "--documents", "line", "--split-by", "document", "--test-fraction", "0.2", "--seed", "4")
        self.assertNotEqual(rows, again)
        self.assertEqual(self.prepare("-", "--out", "parted", "--separator", "\\n--\\n", "--valid-fraction", "0",
                                      stdin=b"\n--\n".join([harness.text(3000, 1)] * 5)), {"train": (15000, 15000, 5)})

    def test_one_line_for_what_is_wrong(self):
        self.write("a.txt", harness.text(5000, 1))
        self.write("b.txt", harness.text(500, 2))
        self.write("one.txt", b"x")
        self.write("cut.gz", gzip.compress(harness.text(50000, 1))[:-20])
        for arguments, words in [
            (["cut.gz"], ["cut.gz: ends in the middle of a gzip archive"]),
            (["a.txt", "a.txt"], ["a.txt: stands twice"]),
            (["-"], ["standard input: is empty"]),
            (["a.txt", "--documents", "word"], ["--documents", "word"]),
            (["a.txt", "--split-by", "size"], ["--split-by", "size"]),
            (["a.txt", "--separator", ""], ["--separator"]),
            (["a.txt", "--separator", "x\\y"], ["--separator", "x\\y"]),
            (["a.txt", "--separator", "x", "--documents", "line"], ["--separator", "--documents"]),
            (["a.txt", "--held-out", "b.txt", "c.txt"], ["c.txt: cannot be opened"]),
            (["a.txt", "--seed", "3"], ["--seed", "--split-by document"]),
            (["one.txt", "--valid-fraction", "0"], ["too little to train on", "1 bytes"]),
            (["a.txt", "--test-fraction", "0.7"], ["test_fraction", "0.7"]),
            (["a.txt", "--tokenizer", "missing.model"], ["missing.model"]),
            (["a.txt", "--tokenizer", "a.txt"], ["a.txt: is not a SentencePiece model"]),
        ]:
            with self.subTest(arguments):
                self.refuse("prepare", *arguments, "--out", "data", "--quiet", containing=words)

    def start(self, *arguments, **options):
        return subprocess.Popen([harness.PROGRAM, "prepare", *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)

    def test_interrupted_leaves_nothing(self):
        for feed in [False, True]:  # while the pipe is silent, and in the middle of a stream
            with self.subTest(feed):
                process = self.start("-", "--out", "deep/data", "--quiet", stdin=subprocess.PIPE)
                if feed:
                    process.stdin.write(b"x" * 3000000)
                    process.stdin.flush()
                while not os.path.exists(self.path("deep")):  # until it has begun to write
                    time.sleep(0.01)
                process.send_signal(signal.SIGINT)
                _, stderr = process.communicate(timeout=60)
                self.assertEqual((process.returncode, stderr), (130, b"longspan: interrupted\n"))
                self.assertEqual(self.listing(), {})

    def test_full_disk_is_one_line_and_leaves_nothing(self):
        self.write("a.txt", harness.text(300000, 1))
        before = self.listing()
        process = self.start("a.txt", "--out", "data", "--quiet",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000)))
        out, stderr = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out, stderr),
                         (1, b"", b"longspan: data/train.bin: cannot be written: File too large\n"))
        self.assertEqual(self.listing(), before)

    def peak_memory(self, size, *arguments):
        """Kilobytes of a run on `size` bytes of generated lines."""
        process = self.start("-", "--out", "of-%d" % size, "--quiet", *arguments, stdin=subprocess.PIPE)
        piece = harness.text(1 << 16, 1).replace(b"ship", b"ship\n")

        def feed():
            with process.stdin:
                for _ in range(size // len(piece)):
                    process.stdin.write(piece)

        thread = threading.Thread(target=feed)
        thread.start()
        _, status, usage = os.wait4(process.pid, 0)
        thread.join()
        process.stdout.close()
        process.stderr.close()
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss

    def test_memory_does_not_grow_with_the_text(self):
        small, large = 4 << 20, 52 << 20
        # Buffers have sizes of their own and the allocator some freedom, 16 MiB at most; the text would be 48 MiB.
        for arguments in [[], ["--documents", "line", "--valid-fraction", "0.5"]]:
            self.assertLess(self.peak_memory(large, *arguments) - self.peak_memory(small, *arguments), 16 << 10)
            shutil.rmtree(self.path("of-%d" % small))
            shutil.rmtree(self.path("of-%d" % large))


@harness.unittest.skipUnless(shutil.which("spm_train"), "needs spm_train to make a model")
class SentencePieceTest(harness.ProgramTest):
    def model(self):
        self.write("sentences.txt", b"\n".join(harness.text(60, i) for i in range(300)))
        subprocess.run(["spm_train", "--input=sentences.txt", "--model_prefix=words", "--vocab_size=60", "--hard_vocab_limit=false",
                        "--minloglevel=2"], cwd=self.folder, check=True, capture_output=True, timeout=60)
        return "words.model"

    def test_the_whole_program(self):
        model = self.model()
        self.write("train.txt", b"\n".join(harness.text(70, i) for i in range(3000)))
        self.write("held-out.txt", b"\n".join(harness.text(70, i) for i in range(5000, 5300)))
        rows = counts(self.json_lines("prepare", "train.txt", "--held-out", "held-out.txt", "--tokenizer", model, "--out", "data", "--quiet"))
        self.assertEqual(rows["train"][1] + rows["valid"][1], os.path.getsize(self.path("train.txt")))
        self.assertEqual(rows["test"][1], os.path.getsize(self.path("held-out.txt")))
        self.assertLess(rows["test"][0], rows["test"][1] / 2)
        with open(self.path("words.vocab"), "rb") as file:
            vocabulary = file.read().count(b"\n")
        self.succeed("train", "data", "--out", "model", "--quiet", *TINY_LAVO, "--set", "train.steps=3", "--set",
                     "model.vocabulary=%d" % vocabulary)
        self.assertIn("tokenizer.model", os.listdir(self.path("model")))
        self.assertNotIn("tokenizer.json", os.listdir(self.path("model")))
        row, = self.json_lines("eval", "model", "--data", "data", "--blocks", "2", "--quiet")
        self.assertTrue(0 < row["bits_per_byte"] < 9)
        text = self.succeed("generate", "model", "--prompt", "the sea", "--tokens", "20", "--quiet").stdout
        self.assertIn(b" ", text.strip())
        # The same tokens read as a stream, and the same bytes.
        with open(self.path("held-out.txt"), "rb") as file:
            row = self.json_lines("score", "model", "--quiet", stdin=file.read())[-1]
        self.assertEqual(row["tokens"], rows["test"][0])
        self.assertTrue(0 < row["bits_per_byte"] < 9)
        self.refuse("score", "model", "--quiet", stdin=b"the sea\nwas \xff calm\n", containing=["not UTF-8 at byte 12"])
        # A model and a dataset of different tokenizers do not go together.
        self.succeed("prepare", "train.txt", "--out", "bytes", "--quiet")
        self.refuse("eval", "model", "--data", "bytes", "--quiet", containing=["bytes", "another tokenizer"])
        self.refuse("eval", "model", "--data", "held-out.txt", "--quiet", containing=["sentencepiece"])

    def test_text_that_is_not_utf8_is_named_with_its_place(self):
        model = self.model()
        self.write("good.txt", harness.text(5000, 1))
        self.write("bad.txt.gz", gzip.compress(harness.text(70000, 1) + b"\xff" + harness.text(70000, 1)))
        self.refuse("prepare", "good.txt", "bad.txt.gz", "--tokenizer", model, "--out", "data", "--quiet",
                    containing=["bad.txt.gz: is not UTF-8 at byte 70000 of the text (0xff)"])


if __name__ == "__main__":
    harness.main()
