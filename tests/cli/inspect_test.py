"""longspan inspect: the registry, and a look into the memory of a model."""

import json
import math
import xml.etree.ElementTree

import harness


class AttentionsTest(harness.ProgramTest):
    def test_one_object_per_attention(self):
        entries = {e["name"]: e for e in self.json_lines("inspect", "attentions")}
        self.assertLessEqual({"lavo", "diffuser", "local", "softmax"}, set(entries))
        for entry in entries.values():
            self.assertLessEqual({"name", "patterns", "streaming", "backends", "options"}, set(entry))
            self.assertTrue(entry["patterns"] and entry["backends"])
            for option in entry["options"]:
                self.assertLessEqual({"name", "kind", "default", "help"}, set(option))
        options = {o["name"]: o for o in entries["lavo"]["options"]}
        self.assertIn("qr", options["basis_mode"]["choices"])
        self.assertEqual(options["r"]["minimum"], 1)
        self.assertIn("causal_self", entries["lavo"]["patterns"])

    def test_table_for_a_person(self):
        out = self.succeed("inspect", "attentions").stdout.decode()
        for part in ["lavo", "basis_mode", "softmax", "causal_self"]:
            self.assertIn(part, out)

    def test_unknown_subject(self):
        self.refuse("inspect", "kernels", containing=["kernels", "attentions"])

    def test_bounds_are_shown_in_full(self):
        out = self.succeed("inspect", "attentions").stdout.decode()
        self.assertIn("1 to 1048576", out)


class ConfigTest(harness.ProgramTest):
    def test_every_field_of_a_saved_configuration(self):
        groups = {g["group"]: [f["name"] for f in g["fields"]] for g in self.json_lines("inspect", "config", "model", "train", "lavo")}
        self.assertEqual(list(groups), ["model", "train", "lavo"])
        with open(self.path(self.trained(steps=1) + "/config.json")) as file:
            saved = json.load(file)
        self.assertEqual(set(saved["train"]), set(groups["train"]))
        self.assertEqual(set(saved["model"]), {*groups["model"], "attention_options"})
        self.assertEqual(set(saved["model"]["attention_options"]), set(groups["lavo"]))

    def test_fields(self):
        groups = {g["group"]: {f["name"]: f for f in g["fields"]} for g in self.json_lines("inspect", "config")}
        self.assertEqual(list(groups), ["model", "train", "encoder", "head", "task", "recall", "generate", "pattern"])
        self.assertLessEqual({"kind": "integer", "default": 4, "minimum": 1, "maximum": 1024}.items(), groups["model"]["layers"].items())
        self.assertEqual(groups["train"]["autocast"]["choices"], ["none", "bf16", "auto"])
        out = self.succeed("inspect", "config", "train").stdout.decode()
        for part in ["--set train.FIELD=VALUE", "learning_rate", "0 to 10"]:
            self.assertIn(part, out)
        self.assertIn("attention_options", self.succeed("inspect", "config").stdout.decode())

    def test_unknown_group(self):
        self.refuse("inspect", "config", "trian", containing=["unknown group 'trian'; did you mean 'train'?"])


class LavoTest(harness.ProgramTest):
    def test_numbers_of_every_layer(self):
        model = self.trained()
        layers = self.json_lines("inspect", "lavo", model, "--text", "held-out.txt", "--positions", "20", "--from", "30")
        self.assertEqual([layer["layer"] for layer in layers], [0, 1])
        for layer in layers:
            heads, slots, window = 2, 4, 8
            self.assertEqual((layer["heads"], layer["slots"], layer["positions"]), (heads, slots, 20))
            self.assertLess(layer["orthogonality"], 1e-6)
            for name, width in [("reading", slots), ("contents", slots), ("local", window)]:
                self.assertEqual((len(layer[name]), len(layer[name][0]), len(layer[name][0][0])), (heads, 20, width), name)
            for name in ["reading", "local"]:
                for head in layer[name]:
                    for weights in head:
                        self.assertAlmostEqual(sum(weights), 1, places=9)
            for entropy in layer["entropy"]:
                self.assertTrue(0 <= entropy <= math.log2(slots) + 1e-9)
        # Reading on from further back gives the same for the same positions.
        wider = self.json_lines("inspect", "lavo", model, "--text", "held-out.txt", "--positions", "50")
        for longer, shorter in zip(wider[1]["reading"][0][30:], layers[1]["reading"][0]):
            for x, y in zip(longer, shorter):
                self.assertAlmostEqual(x, y, places=4)  # float32 layers before it

    def test_far_into_a_long_text(self):
        model = self.trained()
        self.write("long.txt", harness.text(9000, 5))
        near = self.json_lines("inspect", "lavo", model, "--text", "long.txt", "--from", "4900", "--positions", "3000")
        far = self.json_lines("inspect", "lavo", model, "--text", "long.txt", "--from", "7800", "--positions", "100")
        for longer, shorter in zip(near, far):
            for name in ["reading", "contents", "local"]:
                for head in range(2):
                    for x, y in zip(longer[name][head][2900:], shorter[name][head]):
                        self.assertLess(max(abs(a - b) for a, b in zip(x, y)), 1e-4)  # float32 layers before it

    def test_picture(self):
        model = self.trained()
        out = self.succeed("inspect", "lavo", model, "--text", "data", "--positions", "24", "--svg", "slots.svg").stdout.decode()
        for part in ["layer", "entropy", "own local weight  ", "in bits, mean over the positions"]:
            self.assertIn(part, out)
        self.write("book.txt", b"no picture")
        self.refuse("inspect", "lavo", model, "--text", "data", "--svg", "book.txt",
                    containing=["--svg: 'book.txt' exists and is not an SVG picture"])
        root = xml.etree.ElementTree.parse(self.path("slots.svg")).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
        for part in ["Layer 0: reading weights p", "Layer 1: reading weights p"]:
            self.assertIn(part, titles)

    def test_wrong_input(self):
        model = self.trained()
        self.refuse("inspect", "lavo", "nowhere", "--text", "data", containing=["nowhere: not a model"])
        self.refuse("inspect", "lavo", model, "--text", "data", "--positions", "0", containing=["--positions"])
        self.write("short.txt", b"abc")
        self.refuse("inspect", "lavo", model, "--text", "short.txt", containing=["has 3 tokens, but --from and --positions ask for 160"])
        self.refuse("inspect", "lavo", model, "--texxt", "data", containing=["--texxt", "--text"])
        self.succeed("train", "data", "--out", "other", "--quiet", "--attention", "softmax", *harness.TINY, "--set", "train.steps=1")
        self.refuse("inspect", "lavo", "other", "--text", "data", containing=["has the attention softmax, expected lavo"])


if __name__ == "__main__":
    harness.main()
