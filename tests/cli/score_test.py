"""score: log-likelihoods of texts that come whole, in portions, and over several sessions."""

import gzip
import json
import lzma
import math
import os
import resource
import shutil
import signal
import subprocess
import unittest

import harness


class ScoreCase(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.model = self.trained(steps=5)
        self.text = harness.text(3000, 9).replace(b" ship", b" ship\n")[:3000]

    def score(self, *arguments, stdin=b""):
        rows = self.json_lines("score", self.model, "--threads", "1", *arguments, stdin=stdin)
        self.assertEqual(rows[-1]["event"], "total")
        return rows[:-1], rows[-1]

    def start(self, *arguments):
        return subprocess.Popen([harness.PROGRAM, "score", self.model, "--threads", "1", *arguments], cwd=self.folder, bufsize=0,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class TotalTest(ScoreCase):
    def test_fields(self):
        rows, total = self.score(stdin=self.text)
        self.assertEqual(rows, [])
        self.assertEqual((total["tokens"], total["bytes"], total["predicted_tokens"]), (3000, 3000, 2999))
        self.assertAlmostEqual(total["bits_per_byte"], -total["log_likelihood"] / math.log(2) / 2999, places=12)
        for field in ["state_bytes", "peak_rss_bytes", "us_per_token", "us_per_token_first_1000", "us_per_token_last_1000"]:
            self.assertGreater(total[field], 0, field)
        self.assertEqual(total["stream_log_likelihood"], total["log_likelihood"])
        self.assertFalse(total["interrupted"])

    def test_equals_eval(self):
        # 1,024 targets after 1,024 tokens and one more before them.
        self.write("t.txt", self.text[:2049])
        row, = self.json_lines("eval", self.model, "--data", "t.txt", "--lengths", "2048", "--blocks", "1", "--quiet")
        self.score("--save-state", "s", stdin=self.text[:1025])
        _, total = self.score("--load-state", "s", stdin=self.text[1025:2049])
        # float32: means of 1,024 losses of some 5 nats, each of logits that err by a few units in the last place.
        self.assertAlmostEqual(total["bits_per_byte"], row["bits_per_byte"], delta=5 * 64 * 2**-24)

    def test_any_bytes(self):
        data = bytes(range(256)) * 5
        _, total = self.score(stdin=data)
        self.assertEqual(total["tokens"], 1280)
        self.assertTrue(math.isfinite(total["bits_per_byte"]))

    def test_nothing_and_one_byte(self):
        for text in [b"", b"x"]:
            _, total = self.score(stdin=text)
            self.assertEqual((total["tokens"], total["bits_per_byte"], total["log_likelihood"]), (len(text), None, 0))
        self.assertIn(b"none of them predicted", self.succeed("score", self.model, stdin=b"x").stdout)

    def test_archives_are_unpacked(self):
        _, plain = self.score("--skip", "4", stdin=b"head" + self.text)
        packed = gzip.compress(b"head" + self.text)
        self.write("t.txt.gz", packed)
        self.write("t.xz", lzma.compress(b"head" + self.text))
        for how, stdin in [(("--text", "t.txt.gz"), b""), (("--text", "t.xz"), b""), ((), packed)]:
            _, total = self.score("--skip", "4", *how, stdin=stdin)
            self.assertEqual((total["bytes"], total["log_likelihood"]), (3000, plain["log_likelihood"]), how)
        self.write("cut.gz", packed[:-20])
        result = self.run_program("score", self.model, "--text", "cut.gz")
        self.assertEqual((result.returncode, result.stderr), (2, b"longspan: cut.gz: ends in the middle of a gzip archive\n"))
        self.write("not.gz", self.text)
        self.refuse("score", self.model, "--text", "not.gz", containing=["not.gz: is named like a gzip archive"])

    def test_file_stdin_and_skip_agree(self):
        self.write("t.txt", b"head" + self.text)
        _, a = self.score(stdin=self.text)
        _, b = self.score("--text", "t.txt", "--skip", "4")
        self.assertEqual(a["log_likelihood"], b["log_likelihood"])
        self.assertNotEqual(a["log_likelihood"], self.score("--text", "t.txt")[1]["log_likelihood"])

    def test_a_file_is_not_read_up_to_where_it_begins(self):
        size = 1 << 42  # reading so much would take an hour; a file of zeros takes no room
        with open(self.path("long.txt"), "wb") as file:
            file.seek(size)
            file.write(self.text)
        _, a = self.score(stdin=self.text)
        _, b = self.score("--text", "long.txt", "--skip", size)
        self.assertEqual(a["log_likelihood"], b["log_likelihood"])
        os.remove(self.path("long.txt"))
        self.write("short.txt", b"12345")
        self.refuse("score", self.model, "--text", "short.txt", "--skip", "6", containing=["--skip", "at most 5", "6"])

    def test_number_formats(self):
        exact = self.score("--dtype", "float64", stdin=self.text)[1]["bits_per_byte"]
        self.assertAlmostEqual(self.score(stdin=self.text)[1]["bits_per_byte"], exact, delta=1e-4)
        # bfloat16 keeps 8 bits: products of the layers err by some 2^-8 of themselves.
        self.assertAlmostEqual(self.score("--dtype", "bfloat16", stdin=self.text)[1]["bits_per_byte"], exact, delta=exact * 2**-6)

    def test_for_a_person(self):
        out = self.succeed("score", self.model, "--per", "line", stdin=self.text).stdout.decode().splitlines()
        self.assertEqual(out[0].split(), ["line", "bytes", "log-likelihood", "bits/byte"])
        self.assertEqual(out[1].split()[0], "1")
        self.assertIn("in all: 3,000 bytes", out[-2])


class LineTest(ScoreCase):
    def test_lines_add_up(self):
        lines, total = self.score("--per", "line", stdin=self.text)
        expected = self.text.splitlines(keepends=True)
        self.assertEqual([r["bytes"] for r in lines], [len(line) for line in expected])
        self.assertEqual([r["line"] for r in lines], list(range(1, len(expected) + 1)))
        self.assertEqual([r["offset"] for r in lines], [len(b"".join(expected[:i])) for i in range(len(expected))])
        self.assertAlmostEqual(sum(r["log_likelihood"] for r in lines), total["log_likelihood"], places=6)

    def test_shown_while_the_input_pauses(self):
        lines, _ = self.score("--per", "line", stdin=self.text)
        process = self.start("--per", "line", "--json")
        try:
            done = 0
            for portion in [self.text[:700], self.text[700:1500]]:
                process.stdin.write(portion)
                done += len(portion)
                complete = [r for r in lines if r["offset"] + r["bytes"] <= done and r["offset"] + r["bytes"] > done - len(portion)]
                self.assertGreater(len(complete), 3)
                for row in complete:  # would wait for ever if the program waited for more
                    self.assertEqual(json.loads(process.stdout.readline()), row)
            process.stdin.write(self.text[1500:])
            rest, errors = process.communicate(timeout=60)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(len(rest.splitlines()), 1 + sum(1 for r in lines if r["offset"] + r["bytes"] > 1500))


class MarkTest(ScoreCase):
    def test_threshold_and_top(self):
        text = self.text[:1000] + b"\x00\xffZebra" + self.text[1000:]
        marks, _ = self.score("--mark", "6.5", stdin=text)
        self.assertTrue(all(m["event"] == "mark" and m["bits"] >= 6.5 for m in marks))
        self.assertEqual([m["offset"] for m in marks], sorted(m["offset"] for m in marks))
        self.assertIn(1002, [m["offset"] for m in marks])
        zebra, = [m for m in marks if m["offset"] == 1002]
        self.assertEqual(zebra["text"], "Z")
        self.assertTrue(zebra["context"].endswith("\x00\ufffd"), "as it is, but for what JSON cannot hold")
        self.assertEqual(bytes(zebra["context_bytes"]), text[:1002][-len(zebra["context_bytes"]):])
        self.assertNotIn("bytes", zebra)
        byte, = [m for m in self.score("--mark", "0", stdin=text)[0] if m["offset"] == 1001]
        self.assertEqual((byte["text"], byte["bytes"]), ("\ufffd", [255]))
        self.assertEqual(zebra["line"], 1 + text[:1002].count(b"\n"))
        top, _ = self.score("--mark-top", "4", stdin=text)
        everything, _ = self.score("--mark", "0", stdin=text)
        self.assertEqual(len(everything), len(text) - 1)
        self.assertEqual(top, sorted(everything, key=lambda m: (-m["bits"], m["offset"]))[:4])

    def test_plain_text_has_no_colour(self):
        out = self.succeed("score", self.model, "--mark-top", "2", stdin=self.text + b"Z").stdout
        self.assertNotIn(b"\x1b", out)
        self.assertIn(b"[", out)


class SessionTest(ScoreCase):
    def test_any_cut_is_the_uninterrupted_run_bit_for_bit(self):
        self.text = self.text.rstrip(b"\n") + b"\n"
        arguments = ["--per", "line", "--mark", "7"]
        whole, total = self.score(*arguments, "--save-state", "whole", stdin=self.text)
        for cuts in [[1], [512], [700, 701, 2999], [100, 200, 300, 1024, 1025]]:
            rows, begin = [], 0
            if os.path.exists(self.path("s")):
                os.remove(self.path("s"))
            for end in [*cuts, len(self.text)]:
                load = ["--load-state", "s"] if begin else []
                more, last = self.score(*arguments, *load, "--save-state", "s", stdin=self.text[begin:end])
                rows += more
                self.assertEqual(last["tokens"], end - begin)
                begin = end
            self.assertEqual(rows, whole)
            for field in ["log_likelihood", "bits_per_byte", "bytes"]:
                self.assertEqual(last["stream_" + field], total[field])
            with open(self.path("s"), "rb") as a, open(self.path("whole"), "rb") as b:
                self.assertEqual(a.read(), b.read())

    def test_the_first_token_of_a_continuation_is_predicted(self):
        self.score("--save-state", "s", stdin=self.text[:512])
        _, total = self.score("--load-state", "s", stdin=self.text[512:513])
        self.assertEqual((total["predicted_tokens"], total["stream_tokens"]), (1, 513))

    def test_interrupted_and_gone_on_with(self):
        whole, total = self.score("--per", "line", stdin=self.text)
        process = self.start("--per", "line", "--json", "--save-state", "s")
        process.stdin.write(self.text[:1400])
        rows = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn(b"longspan: interrupted\n", errors)
        rest = [json.loads(line) for line in out.splitlines()]
        self.assertTrue(rest[-1]["interrupted"])
        done = rest[-1]["bytes"]
        self.assertIn(done, range(512, 1401))  # what it had taken from the pipe
        second, last = self.score("--per", "line", "--load-state", "s", stdin=self.text[done:])
        self.assertEqual(rows + rest[:-1] + second, whole)
        self.assertEqual(last["stream_log_likelihood"], total["log_likelihood"])

    def test_a_save_that_fails_leaves_the_old_file(self):
        self.score("--save-state", "s", stdin=self.text[:100])
        with open(self.path("s"), "rb") as file:
            old = file.read()
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        result = subprocess.run([harness.PROGRAM, "score", self.model, "--quiet", "--load-state", "s", "--save-state", "s"], cwd=self.folder,
                                input=self.text, capture_output=True, timeout=60, preexec_fn=limit)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr.decode(), r"^longspan: s: .*File too large\n$")
        with open(self.path("s"), "rb") as file:
            self.assertEqual(file.read(), old)
        self.assertEqual([n for n in os.listdir(self.folder) if "aside" in n], [])


class ConstancyTest(ScoreCase):
    def test_memory_does_not_grow(self):
        text = harness.text(400000, 4)
        _, short = self.score(stdin=text[:20000])
        _, long = self.score(stdin=text)
        self.assertEqual(long["state_bytes"], short["state_bytes"])
        # A number kept for every token would be 3 MB.
        self.assertLess(long["peak_rss_bytes"] - short["peak_rss_bytes"], 2_500_000)


@unittest.skipUnless(shutil.which("spm_train"), "needs spm_train")
class SentencePieceTest(harness.ProgramTest):
    """Tokens of several bytes, empty lines without a token, lines that wait for their end."""

    def setUp(self):
        super().setUp()
        self.text = harness.text(9000, 1).replace(b" ship", b" ship\n").replace(b" no", b" no\n\n")
        self.write("train.txt", self.text)
        subprocess.run(["spm_train", "--input=train.txt", "--model_prefix=sp", "--vocab_size=40", "--hard_vocab_limit=false",
                        "--minloglevel=3"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.succeed("prepare", "train.txt", "--tokenizer", "sp.model", "--out", "data", "--quiet")
        with open(self.path("data/dataset.json")) as file:
            size = json.load(file)["vocabulary"]
        self.model = self.trained("--set", "model.vocabulary=%d" % size, steps=2)

    def test_lines_and_sessions(self):
        text = self.text[:3000].rstrip(b"\n") + b"\n"
        score = lambda *a, stdin: self.json_lines("score", self.model, "--threads", "1", "--per", "line", *a, stdin=stdin)
        whole = score("--save-state", "whole", stdin=text)
        lines = text.splitlines(keepends=True)
        self.assertEqual([r["bytes"] for r in whole[:-1]], [len(line) for line in lines])
        self.assertEqual(whole[-1]["bytes"], len(text))
        self.assertLess(whole[-1]["tokens"], len(text))
        rows, begin = [], 0
        for end in [333, 1500, len(text)]:
            rows += score(*(["--load-state", "s"] if begin else []), "--save-state", "s", stdin=text[begin:end])
            begin = end
        self.assertEqual(rows[-1]["stream_log_likelihood"], whole[-1]["log_likelihood"])
        self.assertEqual([r for r in rows if r["event"] == "line"], whole[:-1])

    def test_text_that_is_not_utf8_names_the_place(self):
        self.refuse("score", self.model, stdin=b"a ship\nno \xff sail\n", containing=["stdin: is not UTF-8 at byte 10"])
        self.refuse("generate", self.model, "--prompt-file", "-", stdin=b"a \xff", containing=["prompt: is not UTF-8 at byte 2"])

    def test_drawn_text_in_parts(self):
        run = lambda *a: self.json_lines("generate", self.model, "--threads", "1", *a)[0]["text"]
        whole = run("--prompt", "the sea", "--tokens", "40", "--seed", "2", "--save-state", "whole")
        parts = run("--prompt", "the sea", "--tokens", "15", "--seed", "2", "--save-state", "s")
        self.assertEqual(parts + run("--load-state", "s", "--tokens", "25", "--save-state", "s"), whole)


class RefusalTest(ScoreCase):
    def test_states(self):
        self.score("--save-state", "s", stdin=self.text[:600])
        with open(self.path("s"), "rb") as file:
            good = file.read()
        self.write("cut", good[:-9])
        self.write("altered", good[:-9] + bytes([good[-9] ^ 4]) + good[-8:])
        self.write("empty", b"")
        refuse = lambda state, *parts: self.refuse("score", self.model, "--load-state", state, stdin=self.text, containing=[state, *parts])
        refuse("cut")
        refuse("altered", "the content was altered after it was written")
        refuse("empty")
        refuse("missing")
        refuse("model/model.safetensors", "longspan.session.1")
        os.rename(self.path("model"), self.path("first"))
        self.trained("--set", "model.layers=1", steps=1)
        refuse("s", "the state belongs to another model, with layers = 2, this one has 1")

    def test_flags(self):
        self.refuse("score", "nowhere", containing=["nowhere"])
        self.refuse("score", self.model, "--text", "missing.txt", containing=["missing.txt"])
        self.refuse("score", self.model, "--text", "data", containing=["data: is a folder"])
        self.refuse("score", self.model, "--per", "word", containing=["--per", "word"])
        self.refuse("score", self.model, "--mark", "-1", containing=["--mark"])
        self.refuse("score", self.model, "--mark", "nan", containing=["--mark", "nan"])
        self.refuse("score", self.model, "--mark-top", "0", containing=["--mark-top"])
        self.refuse("score", self.model, "--skip", "9", stdin=b"12345", containing=["--skip", "at most 5", "9"])
        self.refuse("score", self.model, "--save-state", "no/folder/s", stdin=self.text,
                    containing=["--save-state: 'no/folder/s': there is no folder"])
        self.refuse("score", self.model, "--save-state", "data", stdin=self.text, containing=["data"])
        self.write("book.txt", self.text)
        for other in ["book.txt", "model/model.safetensors"]:
            self.refuse("score", self.model, "--text", "book.txt", "--save-state", other,
                        containing=["--save-state: '%s' exists and is not a state" % other])


if __name__ == "__main__":
    harness.main()
