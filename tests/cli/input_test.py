"""Bad input: one clear line, exit status 2, nothing written."""

import json
import os
import struct
import subprocess

import harness
from harness import TINY_LAVO


class PrepareTest(harness.ProgramTest):
    def test_files(self):
        self.write("empty.txt", b"")
        self.write("short.txt", b"abc")
        os.mkdir(self.path("folder"))
        self.refuse("prepare", "missing.txt", "--out", "data", "--quiet", containing=["missing.txt"])
        self.refuse("prepare", "empty.txt", "--out", "data", "--quiet", containing=["empty.txt"])
        self.refuse("prepare", "folder", "--out", "data", "--quiet", containing=["folder"])
        self.refuse("prepare", "short.txt", "--out", "data", "--quiet")
        self.refuse("prepare", "", "--out", "data", "--quiet", containing=["files: expected a value, got ''"])
        self.refuse("prepare", "\x1b[31m\x01\u0085.txt", "--out", "data", "--quiet",
                    containing=["longspan: \\x1b[31m\\x01\\x85.txt: cannot be opened"])
        self.write("good.txt", harness.text(20000, 1))
        self.refuse("prepare", "good.txt", "--held-out", "missing.txt", "--out", "data", "--quiet", containing=["missing.txt"])
        self.refuse("prepare", "good.txt", "--held-out", "good.txt", "--out", "data", "--quiet", containing=["good.txt"])
        self.refuse("prepare", "good.txt", "--valid-fraction", "0.9", "--out", "data", "--quiet", containing=["0.9"])

    def test_folders_above_the_output_are_made(self):
        self.write("good.txt", harness.text(20000, 1))
        self.succeed("prepare", "good.txt", "--out", "new/one/data", "--quiet")
        self.assertTrue(os.path.exists(self.path("new/one/data/train.bin")))
        self.refuse("prepare", "good.txt", "--out", "good.txt/data", "--quiet", containing=["good.txt: exists and is not a folder"])

    def test_a_separator_may_begin_with_a_dash_and_is_missed_where_it_never_occurs(self):
        self.write("a.txt", b"some words\n---\n" * 500)
        said = "the separator does not occur in the text"
        for name, separator in [("one", ["--separator", "---"]), ("two", ["--separator=---"])]:
            self.assertNotIn(said, self.succeed("prepare", "a.txt", *separator, "--out", name).stderr.decode())
        self.assertIn(said, self.succeed("prepare", "a.txt", "--separator", "+++", "--out", "three").stderr.decode())

    def test_existing_output(self):
        data = self.prepared()
        self.refuse("prepare", "train.txt", "--out", data, "--quiet", containing=[data])


class TrainTest(harness.ProgramTest):
    def refuse_train(self, *arguments, containing):
        self.refuse("train", "data", "--out", "model", "--quiet", *arguments, containing=containing)

    def test_names_and_ranges(self):
        self.prepared()
        self.refuse_train("--attention", "lavoo", containing=["lavoo", "lavo"])
        self.refuse_train("--set", "model.layer=3", containing=["layer", "layers"])
        self.refuse_train("--set", "model.attention_options.windw=3", containing=["windw"])
        self.refuse_train("--set", "modle.layers=3", containing=["modle", "model"])
        self.refuse_train("--set", "steps=3", containing=["unknown field 'steps'; did you mean 'train.steps'?"])
        self.refuse_train("--set", "train.step=3", containing=["step", "steps"])
        self.refuse_train("--set", "train.steps=-1", containing=["steps", "-1"])
        self.refuse_train("--set", "train.learning_rate=fast", containing=["learning_rate", "fast"])
        self.refuse_train("--set", "model.layers", containing=["--set"])
        self.refuse_train("--set", "train.steps=1.0", containing=["train: steps must be an integer from 1 to 1000000000000, got 1.0"])
        self.refuse_train("--set", "train.steps=1e12", containing=["got 1e12"])
        self.refuse_train("--set", "train.seed=9007199254740993", containing=["from 0 to 9007199254740992, got 9007199254740993"])
        self.refuse_train("--set", 'model={"layers": 1, "layers": 2}', containing=["--set model:1:", "'layers' stands twice"])
        self.refuse_train("--set", "model.width=10", "--set", "model.heads=4", containing=["10", "4"])
        self.refuse_train("--set", "model.width=32", "--set", "model.heads=2", "--set", "model.attention_options.r=17",
                          containing=["r = 17", "d = 16"])
        self.refuse_train("--set", "model.vocabulary=100", containing=["100", "256"])
        self.refuse_train(*TINY_LAVO, "--set", "train.length=100000", containing=["100000", "38975"])

    def test_configuration_files(self):
        self.prepared()
        self.refuse_train("--config", "missing.json", containing=["missing.json"])
        self.write("broken.json", b'{"model": {\n  "layers": }')
        self.refuse_train("--config", "broken.json", containing=["broken.json:2"])
        self.write("unknown.json", b'{"modell": {}}')
        self.refuse_train("--config", "unknown.json", containing=["modell", "model"])
        for group, value, told in [("train", {"steps": "3"}, 'train.steps must be a number without quotes, got "3"'),
                                   ("model", {"tied": "true"}, 'model.tied must be true or false without quotes, got "true"'),
                                   ("model", {"attention_options": {"r": "4"}}, "model.attention_options.r must be a number")]:
            self.write("quoted.json", json.dumps({group: value}).encode())
            self.refuse_train("--config", "quoted.json", containing=["quoted.json: " + told])
        self.write("list.json", b"[]")
        self.refuse_train("--config", "list.json", containing=["list.json"])

    def test_dataset(self):
        self.refuse("train", "nowhere", "--out", "model", "--quiet", containing=["nowhere"])
        data = self.prepared()
        with open(self.path("data/train.bin"), "ab") as file:
            file.write(b"x")
        self.refuse("train", data, "--out", "model", "--quiet", *TINY_LAVO, containing=["train"])


class EvalTest(harness.ProgramTest):
    def test_lengths_data_and_ablations(self):
        model = self.trained()
        self.refuse("eval", model, "--data", "data", "--lengths", "65536", "--quiet", containing=["65536", "8000"])
        self.succeed("prepare", "train.txt", "--valid-fraction", "0", "--out", "whole", "--quiet")
        self.refuse("eval", model, "--data", "whole", "--quiet", containing=["nothing was held out in the dataset 'whole'; --split train"])
        self.refuse("eval", model, "--data", "data", "--lengths", "512", "--quiet", containing=["512", "1024"])
        self.refuse("eval", model, "--data", "data", "--lengths", "1024,2048,1024", "--quiet",
                    containing=["--lengths: expected each number once, got 1024 twice"])
        said = self.refuse("eval", model, "--data", "data", "--lengths", "x" * 100000, "--quiet", containing=["(100000 bytes)"])
        self.assertLess(len(said), 300)
        self.refuse("eval", model, "--data", "missing.txt", "--quiet", containing=["missing.txt"])
        self.write("empty.txt", b"")
        self.refuse("eval", model, "--data", "empty.txt", "--quiet", containing=["empty.txt"])
        self.refuse("eval", model, "--data", "data", "--split", "tset", "--quiet", containing=["tset", "test"])
        self.refuse("eval", model, "--data", "data", "--ablate", "memory", "--quiet", containing=["--ablate"])
        self.refuse("eval", model, "--data", "data", "--ablate", "memory=half", "--quiet", containing=["half", "zero"])
        self.refuse("eval", model, "--data", "data", "--ablate", "window=zero", "--quiet", containing=["window", "memory"])
        self.refuse("eval", "nowhere", "--data", "data", "--quiet", containing=["nowhere"])


class WordingTest(harness.ProgramTest):
    """What the parser of the command line refuses is said in the words of the rest."""

    def test_arguments(self):
        for arguments, line in [
            (["eval", "m", "--data", "d", "--blocks", "0"], "--blocks: expected a number from 1 to 1048576, got '0'"),
            (["eval", "m", "--data", "d", "--blocks", "many"], "--blocks: expected a number from 1 to 1048576, got 'many'"),
            (["eval", "m", "--data", "d", "--blocks"], "--blocks: expected a value"),
            (["inspect", "spectrum", "--pattern", "full", "--alpha", "2"], "--alpha: expected a number from 0 to 1, got '2'"),
            (["inspect", "spectrum", "--pattern", "full", "--n", "4", "--delta", "0"],
             "--delta: expected a number from 1e-12 to 1, got 0"),
            (["inspect", "spectrum", "--pattern", "full", "--n", "4", "--csv", "nowhere/x.csv"],
             "--csv: 'nowhere/x.csv': there is no folder '"),
            (["inspect", "spectrum", "--pattern", "full", "--n", "4", "--svg", "."], "--svg: expected a file, got the folder '.'"),
            (["score", "m", "--per", "word"], "--per: expected one of all, line, got 'word'"),
            (["score", "m", "--text", "a", "--text", "b"], "--text: expected once, got 2 times"),
            (["train", "d", "--resume", "--init-from", "x"], "--resume and --init-from exclude each other"),
            (["train", "d", "--resume=x"], "--resume: cannot be 'x'"),
            (["inspect"], "a subcommand is required: "),
        ]:
            with self.subTest(arguments):
                self.refuse(*arguments, containing=["longspan: " + line])


class GenerateTest(harness.ProgramTest):
    def test_flags(self):
        model = self.trained()
        self.refuse("generate", model, containing=["prompt"])
        self.refuse("generate", model, "--prompt", "", containing=["prompt"])
        self.refuse("generate", model, "--prompt", "a", "--temperature", "-1", containing=["temperature", "-1"])
        self.refuse("generate", model, "--prompt", "a", "--top-p", "2", containing=["top_p", "2"])
        self.refuse("generate", model, "--prompt", "a", "--tokens", "some", containing=["tokens", "some"])
        self.refuse("generate", model, "--prompt-file", "missing.txt", containing=["missing.txt"])


class DamagedModelTest(harness.ProgramTest):
    """config.json, model.safetensors: whatever is wrong, one line that names the file."""

    def refuse_model(self, *containing):
        self.refuse("generate", "model", "--prompt", "a", containing=containing)

    def weights(self):
        with open(self.path("model/model.safetensors"), "rb") as file:
            return file.read()

    def header(self):
        content = self.weights()
        size, = struct.unpack("<Q", content[:8])
        return json.loads(content[8:8 + size]), content[8 + size:]

    def save(self, header, data):
        text = json.dumps(header).encode()
        self.write("model/model.safetensors", struct.pack("<Q", len(text)) + text + data)

    def test_weights(self):
        self.trained(steps=1)
        good = self.weights()
        name = "model.safetensors"
        for content in [b"", good[:5], good[:100], good[:-1], good + b"x", struct.pack("<Q", 1 << 60) + good[8:],
                        struct.pack("<Q", 2**64 - 1) + good[8:], struct.pack("<Q", 10) + b"not json!!", struct.pack("<Q", 2) + b"[]"]:
            with self.subTest(size=len(content), start=content[:8]):
                self.write("model/" + name, content)
                self.refuse_model(name)

    def test_headers(self):
        self.trained(steps=1)
        header, data = self.header()
        names = sorted(n for n in header if n != "__metadata__")
        first, second = names[0], names[1]

        def change(which, **fields):
            changed = json.loads(json.dumps(header))
            changed[which].update(fields)
            self.save(changed, data)

        change(second, data_offsets=header[first]["data_offsets"])  # overlapping, of the wrong size, and a hole
        self.refuse_model("model.safetensors")
        change(first, data_offsets=[0, 1 << 60])
        self.refuse_model("model.safetensors", first)
        change(first, dtype="F99")
        self.refuse_model("model.safetensors", "F99")
        change(first, dtype="I32")
        self.refuse_model(first)
        change(first, shape=[-1])
        self.refuse_model(first)
        change(first, shape=[1 << 40, 1 << 40])
        self.refuse_model(first)
        change(first, shape="wide")
        self.refuse_model(first)
        renamed = {(n + ".other" if n == first else n): v for n, v in header.items()}
        self.save(renamed, data)
        self.refuse_model(first)

    def test_configuration(self):
        self.trained(steps=1)
        with open(self.path("model/config.json")) as file:
            config = json.load(file)
        config["model"]["width"] *= 2
        self.write("model/config.json", json.dumps(config).encode())
        self.refuse_model("model.safetensors")
        config["model"]["width"] = 65536
        config["model"]["heads"] = 4096
        self.write("model/config.json", json.dumps(config).encode())
        self.refuse_model("model.safetensors: tensor 'embedding' must have shape [256, 65536]")
        config["model"]["colour"] = 3
        self.write("model/config.json", json.dumps(config).encode())
        self.refuse_model("colour")
        self.write("model/config.json", b"{")
        self.refuse_model("config.json")
        os.remove(self.path("model/config.json"))
        self.refuse_model("config.json")


class OutputTest(harness.ProgramTest):
    def test_full_disk_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([harness.PROGRAM, "inspect", "attentions", "--json"], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"stdout", result.stderr)


if __name__ == "__main__":
    harness.main()
