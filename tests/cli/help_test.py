"""Help, version and wrong usage."""

import subprocess

import harness

SUBCOMMANDS = ["prepare", "train", "eval", "score", "generate", "bench", "inspect", "ablations", "demo"]


class HelpTest(harness.ProgramTest):
    def test_help_lists_every_subcommand(self):
        out = self.succeed("--help").stdout.decode()
        for name in SUBCOMMANDS:
            self.assertIn(name, out)

    def test_every_subcommand_has_help_with_the_common_flags(self):
        for name in SUBCOMMANDS:
            with self.subTest(name):
                out = self.succeed(name, "--help").stdout.decode()
                for flag in ["--threads", "--seed", "--dtype", "--device", "--json"]:
                    self.assertIn(flag, out)

    def test_output_that_cannot_be_written_is_a_failure(self):
        for arguments in [["--help"], ["train", "--help"], ["--version"]]:
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                result = subprocess.run([harness.PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(result.returncode, 1)
                self.assertIn(b"longspan: cannot write to stdout", result.stderr)

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
        self.refuse("inspect", "attentions", "--threads", "0", containing=["--threads"])
        self.refuse("inspect", "attentions", "--threads", "many", containing=["--threads"])
        self.refuse("inspect", "attentions", "--device", "cuda", containing=["--device", "cuda"])
        self.refuse("bench", "--dtype", "float8", containing=["--dtype", "float8"])

    def test_common_flags_stand_before_or_after_the_subcommand(self):
        before = self.succeed("--json", "inspect", "attentions").stdout
        self.assertEqual(before, self.succeed("inspect", "attentions", "--json").stdout)


if __name__ == "__main__":
    harness.main()
