"""longspan inspect pattern: counts, a picture, pairs of one's own, and what is refused."""

import json
import struct
import xml.etree.ElementTree

import harness

FIELDS = {"pattern", "generators", "n", "tokens", "seed", "layer", "nnz", "density", "degree_min", "degree_mean",
          "degree_max", "in_degree_min", "in_degree_max", "empty_rows", "components", "pieces", "global_tokens",
          "duplicates", "bytes", "identity", "options"}


class PatternTest(harness.ProgramTest):
    def look(self, *arguments):
        found, = self.json_lines("inspect", "pattern", *arguments)
        self.assertEqual(set(found), FIELDS)
        self.assertEqual(sum(found["pieces"].values()), found["nnz"])
        if found["n"]:
            self.assertAlmostEqual(found["density"], found["nnz"] / found["n"]**2)
            self.assertAlmostEqual(found["degree_mean"], found["nnz"] / found["n"])
        return found

    def test_preset(self):
        found = self.look("--pattern", "table_s1", "--n", "4096", "--seed", "0")
        self.assertEqual((found["n"], found["tokens"], found["global_tokens"]), (4096, 4096, 128))
        self.assertEqual(round(100 * found["density"], 1), 11.2)
        self.assertEqual((found["components"], found["degree_max"], found["empty_rows"]), (1, 4096, 0))
        self.assertEqual(found["options"]["random_mode"], "total")
        self.assertIsNone(found["options"]["k"])
        again = self.look("--pattern", "table_s1", "--n", "4096", "--threads", "1")
        self.assertEqual(again, found)
        self.assertNotEqual(self.look("--pattern", "table_s1", "--n", "4096", "--seed", "1")["identity"], found["identity"])

    def test_a_stride_of_one_is_every_key_before(self):
        n = 100000  # listed one by one they would be 20 GB
        found = self.look("--pattern", "strided", "--set", "l=1", "--n", n)
        self.assertEqual((found["nnz"], found["pieces"]["rest"]), (n * (n + 1) // 2, 0))
        self.assertLess(found["bytes"], 100 * n)

    def test_a_long_number_is_not_shown_whole(self):
        self.write("long.txt", b"0 1\n7" + b"1" * 1000000 + b" 2\n")
        said = self.refuse("inspect", "pattern", "--edges", "long.txt", containing=["long.txt:2: '7111", "(1000001 bytes) is too large"])
        self.assertLess(len(said), 300)

    def test_exact_counts(self):
        self.assertEqual(self.look("--pattern", "window_overlap", "--n", "4096", "--set", "w=512")["nnz"], 256**2 * 46)
        self.assertEqual(self.look("--pattern", "window_band", "--n", "100", "--set", "k=3")["nnz"], 100 * 7 - 12)
        blocks = self.look("--pattern", "window_block", "--n", "10", "--set", "b=4")
        self.assertEqual((blocks["nnz"], blocks["components"], blocks["degree_min"]), (36, 3, 2))
        self.assertEqual(self.look("--pattern", "full", "--n", "0")["nnz"], 0)
        self.assertEqual(self.look("--pattern", "full", "--n", "9", "--set", "causal=true")["nnz"], 45)

    def test_padding_of_the_reference(self):
        found = self.look("--pattern", "reference", "--n", "1000")
        self.assertEqual((found["n"], found["tokens"]), (1024, 1000))

    def test_text_for_a_person(self):
        out = self.succeed("inspect", "pattern", "--pattern", "table_s1", "--n", "4096").stdout.decode()
        for part in ["1,880,023 pairs, 11.21 %", "window_overlap+global+random", "dense_columns", "random_mode", "components: 1"]:
            self.assertIn(part, out)

    def test_picture(self):
        for name, n in [("table_s1", 2000), ("bigbird", 300), ("full", 1), ("full", 0)]:
            self.succeed("inspect", "pattern", "--pattern", name, "--n", n, "--svg", "pattern.svg", "--quiet")
            root = xml.etree.ElementTree.parse(self.path("pattern.svg")).getroot()
            self.assertTrue(root.tag.endswith("svg"))
            paths = [node for node in root.iter() if node.tag.endswith("path")]
            self.assertEqual(bool(paths), n > 0)

    def test_pairs_of_ones_own(self):
        self.write("edges.txt", b"# mine\n0 1\n3 0\n\n0 1\n")
        found = self.look("--edges", "edges.txt")
        self.assertEqual((found["n"], found["nnz"], found["duplicates"]), (4, 4 + 2, 1))
        self.assertEqual(self.look("--edges", "edges.txt", "--set", "self_loops=false")["pieces"]["rest"], 2)
        joined = self.look("--edges", "edges.txt", "--n", "6", "--pattern", "window_band+edges", "--set", "k=1")
        self.assertEqual(joined["nnz"], 6 * 3 - 2 + 1)
        header = json.dumps({"row_ptr": {"dtype": "I64", "shape": [4], "data_offsets": [0, 32]},
                             "col": {"dtype": "I32", "shape": [2], "data_offsets": [32, 40]}}).encode()
        self.write("rows.safetensors", struct.pack("<Q", len(header)) + header + struct.pack("<4q2i", 0, 0, 1, 2, 2, 1))
        found = self.look("--edges", "rows.safetensors")
        self.assertEqual((found["n"], found["nnz"]), (3, 3 + 2))


class RefusedTest(harness.ProgramTest):
    def refuse_pattern(self, *arguments, containing):
        self.refuse("inspect", "pattern", *arguments, "--svg", "never.svg", containing=containing)

    def test_names_and_values(self):
        self.refuse_pattern(containing=["--pattern", "--edges"])
        self.refuse_pattern("--pattern", "full", containing=["--n"])
        self.refuse_pattern("--pattern", "table_s2", "--n", "9", containing=["'table_s2'", "table_s1"])
        self.refuse_pattern("--pattern", "full+bigbrid", "--n", "9", containing=["'bigbrid'", "bigbird"])
        self.refuse_pattern("--pattern", "random", "--n", "9", "--set", "randommode=total", containing=["random_mode"])
        self.refuse_pattern("--pattern", "window_band", "--n", "9", "--set", "r=3", containing=["does not use r", "k"])
        self.refuse_pattern("--pattern", "window_band", "--n", "9", "--set", "k=-1", containing=["k must be", "-1"])
        self.refuse_pattern("--pattern", "window_band", "--n", "9", "--set", "k", containing=["--set"])
        self.refuse_pattern("--pattern", "full", "--n", "-1", containing=["--n"])
        self.refuse_pattern("--pattern", "full", "--n", "many", containing=["--n"])
        self.refuse_pattern("--pattern", "reference", "--n", "5000", containing=["4096", "5056"])
        self.refuse_pattern("--pattern", "random", "--n", "2000000000", "--set", "r=1000000", containing=["would need", "bytes"])

    def test_files_of_pairs(self):
        self.refuse_pattern("--edges", "missing.txt", containing=["missing.txt"])
        self.refuse_pattern("--edges", "", containing=["--edges"])
        self.refuse_pattern("--pattern", "edges", "--n", "9", containing=["--edges"])
        for content, parts in [(b"0 1\n2\n", [":2:"]), (b"0 -1\n", [":1:", "-1"]), (b"a b\n", [":1:"]),
                               (b"0 9\n", [":1:", "from 0 to 3", "got 9"]), (b"\x00\xff\n", [":1:"]),
                               (b"1 99999999999999999999\n", [":1:", "too large"])]:
            with self.subTest(content):
                self.write("edges.txt", content)
                self.refuse_pattern("--edges", "edges.txt", "--n", "4", containing=["edges.txt", *parts])
        self.write("edges.txt", b"0 1\n")
        self.refuse_pattern("--edges", "edges.txt", "--pattern", "full", containing=["full has no generator edges"])
        self.write("text.safetensors", b"0 1\n")
        self.refuse_pattern("--edges", "text.safetensors", containing=["text.safetensors"])


if __name__ == "__main__":
    harness.main()
