"""docs/cli.md says what the program does: flags, fields of configurations, JSON of outputs and of files."""

import json
import struct
import subprocess
import sys

import documentation
import harness


class DocsTest(harness.ProgramTest):
    def test_flags_and_fields_are_those_of_the_program(self):
        script = documentation.ROOT / "scripts/cli_docs.py"
        result = subprocess.run([sys.executable, "-B", script, "--check", harness.PROGRAM], capture_output=True, timeout=600)
        self.assertEqual(result.returncode, 0, result.stderr.decode())

    def test_no_json_field_that_nobody_writes(self):
        """Every documented name stands in the sources as a text of its own, or in one that is put together from it."""
        sources = ""
        for folder in ["longspan", "tools"]:
            for path in sorted((documentation.ROOT / folder).rglob("*.cc")) + sorted((documentation.ROOT / folder).rglob("*.h")):
                sources += path.read_text(encoding="utf-8")
        for name, fields in documentation.documented().items():
            for field in fields:
                last = field.replace("[]", "").split(".")[-1]
                self.assertIn('"%s"' % last, sources, "docs/cli.md, the JSON of %s: %s" % (name, field))

    def test_outputs_without_a_test_of_their_fields(self):
        self.write("a.txt", harness.text(30000, 1))
        self.json_lines("prepare", "a.txt", "--out", "other", "--quiet")
        model = self.trained(steps=1)
        self.json_lines("train", "data", "--out", "again", "--quiet", *harness.TINY_LAVO, "--set", "train.steps=1")
        self.json_lines("eval", model, "--data", "data", "--blocks", "2", "--ablate", "memory=zero", "--quiet")
        self.json_lines("generate", model, "--prompt", "a ship", "--tokens", "2")
        self.json_lines("score", model, "--text", "held-out.txt", "--per", "line", "--mark-top", "1", "--quiet")
        self.json_lines("inspect", "attentions")

    def check_file(self, name, content):
        self.assertEqual(documentation.undocumented(documentation.documented()[name], content), [], name)

    def test_files(self):
        model = self.trained(steps=1)
        for name in ["data/dataset.json", "data/tokenizer.json", model + "/config.json", model + "/tokenizer.json"]:
            with open(self.path(name)) as file:
                self.check_file(name.split("/")[-1], json.load(file))
        with open(self.path(model + "/history.jsonl")) as file:
            for line in file:
                self.check_file("history.jsonl", json.loads(line))
        self.succeed("generate", model, "--prompt", "a", "--tokens", "2", "--save-state", "state")
        checkpoint = model + "/checkpoints/step-000001/"
        for name, path in [("model.safetensors", checkpoint + "model.safetensors"),
                           ("training.safetensors", checkpoint + "training.safetensors"), ("state", "state")]:
            with open(self.path(path), "rb") as file:
                size, = struct.unpack("<Q", file.read(8))
                self.check_file(name, json.loads(file.read(size)).get("__metadata__", {}))


if __name__ == "__main__":
    harness.main()
