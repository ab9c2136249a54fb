"""generate: prompts, stop strings, and texts that are continued another day."""

import gzip
import json
import os
import signal
import subprocess

import harness


class GenerateCase(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.model = self.trained(steps=5)

    def generate(self, *arguments, stdin=b""):
        row, = self.json_lines("generate", self.model, "--threads", "1", *arguments, stdin=stdin)
        return row


class PromptTest(GenerateCase):
    def test_the_same_from_everywhere(self):
        self.write("prompt.txt", b"a ship")
        ways = [(("--prompt", "a ship"), b""), (("--prompt-file", "prompt.txt"), b""), (("--prompt-file", "-"), b"a ship"), ((), b"a ship")]
        outputs = {self.succeed("generate", self.model, *how, "--tokens", "20", stdin=stdin).stdout for how, stdin in ways}
        self.assertEqual(len(outputs), 1)

    def test_fields(self):
        row = self.generate("--prompt", "a ship", "--tokens", "20", "--seed", "4")
        self.assertEqual((row["prompt_tokens"], row["tokens"], row["stream_tokens"], row["seed"]), (6, 20, 26, 4))
        self.assertEqual((row["ended"], row["stop"]), ("tokens", None))
        self.assertGreater(row["state_bytes"], 0)

    def test_an_archive_is_unpacked(self):
        text = harness.text(3000, 3)
        self.write("prompt.gz", gzip.compress(text))
        plain = self.generate("--tokens", "5", stdin=text)
        for row in [self.generate("--tokens", "5", "--prompt-file", "prompt.gz"), self.generate("--tokens", "5", stdin=gzip.compress(text))]:
            self.assertEqual((row["prompt_tokens"], row["text"]), (3000, plain["text"]))

    def test_refusals(self):
        self.refuse("generate", self.model, containing=["the prompt is empty"])
        self.refuse("generate", self.model, "--prompt", "", containing=["--prompt: expected a value, got ''"])
        self.refuse("generate", self.model, "--prompt", "a", "--min-p", "2", containing=["min_p", "2"])
        self.refuse("generate", self.model, "--prompt", "a", "--repetition-penalty", "0", containing=["repetition_penalty", "0"])
        self.refuse("generate", self.model, "--prompt", "a", "--repetition-window", "5000", containing=["repetition_window", "4096"])
        self.refuse("generate", self.model, "--prompt", "a", "--stop", "", containing=["stop"])
        self.refuse("generate", self.model, "--prompt", "a", "--load-state", "missing", containing=["missing"])
        self.refuse("generate", self.model, "--prompt", "a", "--save-state", "data", containing=["data"])


class StopTest(GenerateCase):
    def test_ends_before_the_string(self):
        whole = self.generate("--prompt", "a", "--tokens", "300", "--seed", "2")["text"]
        stop = whole[200:203]
        at = whole.index(stop)
        row = self.generate("--prompt", "a", "--tokens", "300", "--seed", "2", "--stop", "never in it", "--stop", stop)
        self.assertEqual((row["text"], row["ended"], row["stop"]), (whole[:at], "stop", stop))
        plain = self.succeed("generate", self.model, "--prompt", "a", "--tokens", "300", "--seed", "2", "--stop", stop, "--threads", "1")
        self.assertEqual(plain.stdout.decode(errors="replace"), whole[:at] + "\n")
        before = self.succeed("generate", "--stop", stop, self.model, "--prompt", "a", "--tokens", "300", "--seed", "2", "--threads", "1")
        self.assertEqual(before.stdout, plain.stdout, "a repeated flag takes one value, not the model too")


class SessionTest(GenerateCase):
    def test_twice_is_once(self):
        arguments = ["--repetition-penalty", "1.2", "--top-p", "0.9"]
        whole = self.generate("--prompt", "the sea", "--tokens", "60", "--seed", "7", *arguments, "--save-state", "whole")
        first = self.generate("--prompt", "the sea", "--tokens", "25", "--seed", "7", *arguments, "--save-state", "s")
        second = self.generate("--load-state", "s", "--tokens", "35", *arguments, "--save-state", "s")
        self.assertEqual(second["seed"], 7)
        self.assertEqual(first["text"] + second["text"], whole["text"])
        with open(self.path("s"), "rb") as a, open(self.path("whole"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_a_text_in_parts_and_at_once(self):
        text = harness.text(1500, 3)
        whole = self.generate("--tokens", "20", stdin=text)
        self.succeed("score", self.model, "--threads", "1", "--save-state", "s", stdin=text[:700])
        self.generate("--tokens", "0", "--load-state", "s", "--save-state", "s", "--prompt-file", "-", stdin=text[700:1100])
        rest = self.generate("--tokens", "20", "--load-state", "s", "--prompt-file", "-", stdin=text[1100:])
        self.assertEqual(rest["text"], whole["text"])
        self.assertEqual(rest["stream_tokens"], whole["stream_tokens"])

    def test_a_stream_goes_on_without_waiting_for_stdin(self):
        self.generate("--prompt", "a ship", "--tokens", "5", "--save-state", "s")
        arguments = [harness.PROGRAM, "generate", self.model, "--load-state", "s", "--tokens", "5", "--threads", "1", "--json"]
        process = subprocess.Popen(arguments, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.assertEqual(process.wait(timeout=120), 0)  # stdin is still open
            self.assertEqual(json.loads(process.stdout.read())["tokens"], 5)
            self.assertEqual(process.stderr.read(), b"")
        finally:
            process.kill()
            process.communicate()
        said = self.succeed(*arguments[1:], stdin=b"and a").stderr
        self.assertIn(b"stdin is not read with --load-state; --prompt-file - reads it", said)

    def test_score_goes_on_after_generate(self):
        self.generate("--prompt", "a ship\n", "--tokens", "10", "--save-state", "s")
        line, total = self.json_lines("score", self.model, "--per", "line", "--load-state", "s", stdin=b"was calm\n")
        self.assertEqual((total["predicted_tokens"], total["stream_bytes"]), (9, 26))
        self.assertGreaterEqual(line["offset"] + line["bytes"], 26)

    def test_what_is_held_back_is_shown_by_the_next(self):
        whole = self.generate("--prompt", "a", "--tokens", "60", "--seed", "5", "--temperature", "3")["text"]
        # Every 5th token a session ends; bytes of no meaning are drawn at this temperature, so characters are cut.
        out = b""
        load = ["--prompt", "a"]
        for _ in range(12):
            out += self.succeed("generate", self.model, "--threads", "1", *load, "--tokens", "5", "--seed", "5", "--temperature", "3",
                                "--save-state", "s").stdout
            load = ["--load-state", "s"]
        plain = self.succeed("generate", self.model, "--threads", "1", "--prompt", "a", "--tokens", "60", "--seed", "5", "--temperature",
                             "3").stdout
        held = plain[len(out):-1]
        self.assertEqual(plain[:len(out)], out)
        self.assertLess(len(held), 4)
        self.assertTrue(len(whole) > 0)

    def test_interrupted(self):
        process = subprocess.Popen([harness.PROGRAM, "generate", self.model, "--threads", "1", "--prompt", "a", "--tokens", "100000000",
                                    "--save-state", "s"], cwd=self.folder, bufsize=0, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = process.stdout.read(50)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, errors), (130, b"longspan: interrupted\n"))
        drawn = first + rest
        row = self.generate("--load-state", "s", "--tokens", "30", "--temperature", "1")
        whole = self.succeed("generate", self.model, "--threads", "1", "--prompt", "a", "--tokens", row["stream_tokens"] - 1).stdout
        self.assertEqual(whole[:len(drawn)], drawn)


if __name__ == "__main__":
    harness.main()
