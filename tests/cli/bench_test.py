"""longspan bench and longspan inspect: the fields that scripts rely on."""

import harness

SMALL = ["--heads", "2", "--head-dim", "8", "--set", "r=4", "--set", "w=8", "--min-seconds", "0.001", "--quiet", "--threads", "1"]


class BenchTest(harness.ProgramTest):
    def test_one_object_per_length_and_pass_with_every_field(self):
        rows = self.json_lines("bench", "--attention", "lavo", "--against", "softmax", "--pattern", "causal_self", "--pass",
                               "forward,forward_backward", "--lengths", "64,128", *SMALL)
        self.assertEqual([(r["n"], r["pass"]) for r in rows],
                         [(64, "forward"), (64, "forward_backward"), (128, "forward"), (128, "forward_backward")])
        for row in rows:
            self.assertEqual((row["attention"], row["against"], row["pattern"]), ("lavo", "softmax", "causal_self"))
            self.assertEqual((row["heads"], row["head_dim"], row["dtype"], row["threads"]), (2, 8, "float32", 1))
            for field in ["us_per_token", "us_per_token_against", "speedup", "gflops", "matmul_gflops"]:
                self.assertGreater(row[field], 0, field)
            self.assertAlmostEqual(row["speedup"], row["us_per_token_against"] / row["us_per_token"], places=9)
            self.assertGreaterEqual(row["repeats"], 3)

    def test_state_of_lavo_is_constant_and_of_softmax_grows(self):
        sizes = {}
        for name, settings in [("lavo", ["--set", "r=4", "--set", "w=8"]), ("softmax", [])]:
            rows = self.json_lines("bench", "--attention", name, "--pass", "forward", "--lengths", "64,256", "--heads", "2", "--head-dim",
                                   "8", "--min-seconds", "0", "--quiet", *settings)
            sizes[name] = [r["state_bytes"] for r in rows]
        self.assertEqual(sizes["lavo"][0], sizes["lavo"][1])
        counter = 8
        self.assertEqual(4 * (sizes["softmax"][0] - counter), sizes["softmax"][1] - counter)

    def test_peer_is_optional_and_can_be_limited(self):
        row, = self.json_lines("bench", "--attention", "lavo", "--pass", "forward", "--lengths", "64", *SMALL)
        self.assertIsNone(row["against"])
        self.assertIsNone(row["speedup"])
        rows = self.json_lines("bench", "--attention", "lavo", "--against", "softmax", "--pass", "forward", "--lengths", "64,128",
                               "--peer-max-length", "64", *SMALL)
        self.assertEqual([r["against"] for r in rows], ["softmax", None])

    def test_layer_and_other_dtype_and_patterns(self):
        for extra in [["--layer"], ["--dtype", "float64"], ["--pattern", "noncausal_self"]]:
            with self.subTest(extra):
                row, = self.json_lines("bench", "--attention", "lavo", "--against", "softmax", "--lengths", "64", *SMALL, *extra)
                self.assertGreater(row["speedup"], 0)
                self.assertEqual(row["layer"], "--layer" in extra)

    def test_table_for_a_person(self):
        out = self.succeed("bench", "--attention", "lavo", "--against", "softmax", "--lengths", "64", *SMALL).stdout.decode()
        self.assertIn("us/token", out)
        self.assertIn("lavo", out)

    def test_wrong_input(self):
        self.refuse("bench", "--attention", "lavvo", containing=["lavvo", "lavo"])
        self.refuse("bench", "--attention", "lavo", "--against", "sofmax", containing=["sofmax", "softmax"])
        self.refuse("bench", "--attention", "lavo", "--set", "rr=4", containing=["rr"])
        self.refuse("bench", "--attention", "lavo", "--set", "r=0", containing=["r", "0"])
        self.refuse("bench", "--attention", "lavo", "--set", "r=four", containing=["r", "four"])
        self.refuse("bench", "--attention", "lavo", "--set", "r", containing=["--set", "name=value"])
        self.refuse("bench", "--attention", "lavo", "--set", "combine=sum", containing=["combine", "sum", "mean"])
        self.refuse("bench", "--attention", "lavo", "--head-dim", "32", "--set", "r=64", containing=["r = 64", "d = 32"])
        self.refuse("bench", "--lengths", "64,,128", containing=["--lengths"])
        self.refuse("bench", "--lengths", "0", containing=["--lengths"])
        self.refuse("bench", "--pass", "backward", containing=["--pass", "backward"])
        self.refuse("bench", "--pattern", "causal", containing=["causal_self"])
        self.refuse("bench", "--attention", "local", "--pattern", "causal_cross", containing=["local", "causal_cross", "lavo"])


class InspectTest(harness.ProgramTest):
    def test_one_object_per_attention(self):
        entries = {e["name"]: e for e in self.json_lines("inspect", "attentions")}
        self.assertLessEqual({"lavo", "local", "softmax"}, set(entries))
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


if __name__ == "__main__":
    harness.main()
