"""Help, version and wrong usage."""

import os
import subprocess

import harness

SUBCOMMANDS = ["prepare", "tokenize", "train", "eval", "score", "generate", "bench", "inspect", "recall", "study", "ablations", "demo"]


class HelpTest(harness.ProgramTest):
    def test_help_lists_every_subcommand(self):
        out = self.succeed("--help").stdout.decode()
        for name in SUBCOMMANDS:
            self.assertIn(name, out)

    def test_every_subcommand_shows_the_common_flags_that_it_has_a_use_for(self):
        flags = ["--threads", "--seed", "--dtype", "--device", "--json", "--quiet", "--verbose"]
        out = self.succeed("--help").stdout.decode()
        for flag in flags:
            self.assertIn(flag, out)
        for name, used in [("train", flags), ("bench", flags), ("prepare", ["--threads", "--seed", "--json", "--quiet"]),
                           ("inspect", []),
                           ("inspect attentions", ["--json"]), ("inspect config", ["--json"]),
                           ("eval", [flag for flag in flags if flag != "--seed"]),
                           ("demo", [flag for flag in flags if flag not in ("--dtype", "--device")])]:
            with self.subTest(name):
                out = self.succeed(*name.split(), "--help").stdout.decode()
                self.assertEqual([flag for flag in flags if flag in out], used)

    def test_train_says_where_its_fields_are(self):
        self.assertIn("longspan inspect config", self.succeed("train", "--help").stdout.decode())

    def test_output_that_cannot_be_written_is_a_failure(self):
        for arguments in [["--help"], ["train", "--help"], ["--version"]]:
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                result = subprocess.run([harness.PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(result.returncode, 1)
                self.assertIn(b"longspan: cannot write to stdout", result.stderr)

    def test_output_that_nobody_reads_ends_without_a_word(self):
        for arguments in [["--help"], ["inspect", "attentions"]]:
            reader, writer = os.pipe()
            os.close(reader)
            with open(writer, "wb") as closed:
                result = subprocess.run([harness.PROGRAM, *arguments], stdout=closed, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual((result.returncode, result.stderr), (141, b""))

    def test_version(self):
        self.assertRegex(self.succeed("--version").stdout.decode(), r"^longspan \d+\.\d+\.\d+\n$")


class UsageTest(harness.ProgramTest):
    def test_no_subcommand(self):
        self.refuse(containing=["subcommand", "--help"])

    def test_unknown_subcommand_names_the_nearest(self):
        self.refuse("trian", containing=["trian", "train"])

    def test_unknown_flag_names_the_nearest(self):
        self.refuse("bench", "--lenghts", "16", containing=["--lenghts", "--lengths"])
        self.refuse("train", "data", "--out", "m", "--atention=lavo", containing=["--atention", "--attention"])

    def test_missing_argument(self):
        self.refuse("eval", containing=["model"])
        self.refuse("prepare", "a.txt", containing=["--out"])

    def test_common_flags_are_checked(self):
        self.refuse("bench", "--threads", "0", containing=["--threads"])
        self.refuse("bench", "--threads", "many", containing=["--threads"])
        self.refuse("bench", "--device", "cuda", containing=["--device", "cuda"])
        self.refuse("bench", "--dtype", "float8", containing=["--dtype", "float8"])

    def test_common_flags_stand_before_or_after_the_subcommand(self):
        after = self.succeed("inspect", "attentions", "--json").stdout
        for arguments in [["--json", "inspect", "attentions"], ["inspect", "--json", "attentions"]]:
            self.assertEqual(self.succeed(*arguments).stdout, after)

    def test_common_flags_without_a_use_are_refused(self):
        for arguments, flag, where in [(["inspect", "attentions", "--threads", "2"], "--threads", "longspan inspect attentions"),
                                       (["--dtype", "float64", "inspect", "lavo", "m", "--text", "t"], "--dtype", "longspan inspect lavo"),
                                       (["prepare", "a.txt", "--out", "data", "--dtype", "float32"], "--dtype", "longspan prepare"),
                                       (["inspect", "--verbose", "config"], "--verbose", "longspan inspect config"),
                                       (["demo", "--dtype", "float64", "--text", "t"], "--dtype", "longspan demo"),
                                       (["ablations", "--device", "cpu"], "--device", "longspan ablations")]:
            with self.subTest(arguments):
                self.refuse(*arguments, containing=["%s has no use here (see %s --help)" % (flag, where)])

    def test_the_help_of_the_subcommand_at_fault_is_named(self):
        self.refuse("inspect", "lavo", "m", "--text", "t", "--positions", "0", containing=["(see longspan inspect lavo --help)"])
        self.refuse("inspect", "lavo", "m", "--texxt", "t", containing=["'--texxt'", "'--text'", "(see longspan inspect lavo --help)"])
        self.refuse("inspect", containing=["(see longspan inspect --help)"])
        self.refuse("eval", containing=["(see longspan eval --help)"])

    def test_a_flag_without_a_value_is_named(self):
        for arguments, flag in [(["demo", "--text", ""], "--text"), (["ablations", "--text", ""], "--text"),
                                (["inspect", "lavo", "m", "--text", ""], "--text"), (["eval", "m", "--data", ""], "--data"),
                                (["eval", "", "--data", "d"], "model"), (["train", "data", "--out", ""], "--out"),
                                (["generate", "m", "--prompt-file", ""], "--prompt-file"), (["prepare", "", "--out", "d"], "files")]:
            with self.subTest(arguments):
                self.refuse(*arguments, containing=["%s: expected a value, got ''" % flag])


if __name__ == "__main__":
    harness.main()
