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
        self.refuse("bench", "--attention", "lavvo", containing=["unknown attention 'lavvo'; did you mean 'lavo'?"])
        self.refuse("bench", "--attention", "lavo", "--against", "sofmax",
                    containing=["unknown attention 'sofmax'; did you mean 'softmax'?"])
        self.refuse("bench", "--attention", "lavo", "--set", "rr=4", containing=["lavo: unknown field 'rr'; did you mean 'r'?"])
        self.refuse("bench", "--attention", "lavo", "--set", "r=0", containing=["lavo: r must be an integer from 1 to 65536, got 0"])
        self.refuse("bench", "--attention", "lavo", "--set", "r=four", containing=["lavo: r must be an integer", ", got four"])
        self.refuse("bench", "--attention", "lavo", "--set", "r=8.0", containing=["lavo: r must be an integer", ", got 8.0"])
        self.refuse("bench", "--attention", "lavo", "--set", "r", containing=["--set: expected name=value, got 'r'"])
        self.refuse("bench", "--attention", "lavo", "--set", "combine=sum",
                    containing=["lavo: combine must be one of mean, local, global, got sum"])
        self.refuse("bench", "--attention", "lavo", "--head-dim", "32", "--set", "r=64", containing=["r = 64", "d = 32"])
        self.refuse("bench", "--lengths", "64,,128", containing=["--lengths: expected positive integers", "'64,,128'"])
        self.refuse("bench", "--lengths", "0", containing=["--lengths: expected positive integers", "'0'"])
        self.refuse("bench", "--pass", "backward", containing=["--pass: expected forward or forward_backward, got 'backward'"])
        self.refuse("bench", "--pattern", "causal", containing=["pattern must be one of noncausal_self, causal_self", "got causal"])
        self.refuse("bench", "--attention", "local", "--pattern", "causal_cross",
                    containing=["local: the pattern causal_cross is not supported", "lavo, lavo_selective, softmax"])

    def test_flags_that_would_do_nothing_or_never_end(self):
        for seconds in ["nan", "inf", "-1"]:
            self.refuse("bench", "--min-seconds=" + seconds, containing=["--min-seconds: expected a number of at least 0, got " + seconds])
        self.refuse("bench", "--set-against", "r=4", containing=["--set-against requires --against"])
        self.refuse("bench", "--peer-max-length", "64", containing=["--peer-max-length requires --against"])

    def test_more_than_the_machine_has(self):
        small = ["--heads", "1", "--head-dim", "64", "--attention", "local", "--pass", "forward", "--threads", "1"]
        self.refuse("bench", *small, "--lengths", str(10**13), status=1, containing=["out of memory: 2328.3 TiB were asked for in one piece"])
        self.refuse("bench", *small, "--lengths", str(2**62), containing=["the sizes asked for are beyond what a tensor can have"])

    def test_operations_of_a_layer_have_its_projections(self):
        def operations(*extra):
            row, = self.json_lines("bench", "--attention", "local", "--pass", "forward", "--lengths", "64", "--heads", "2", "--head-dim", "8",
                                   "--set", "w=8", "--min-seconds", "0", "--quiet", "--threads", "1", *extra)
            return row["gflops"] * 1e9 * row["us_per_token"] * 1e-6 * 64
        projections = 64 * 4 * 2 * 16 * 16  # q, k, v and the output, 16 x 16 each
        self.assertAlmostEqual(operations("--layer") - operations(), projections, delta=projections * 1e-9)


if __name__ == "__main__":
    harness.main()
