"""longspan inspect rolling: errors of shifts, a chart, and what is refused."""

import xml.etree.ElementTree

import harness

SMALL = ["--n", "48", "--heads", "2", "--head-dim", "8", "--quiet"]


class RollingTest(harness.ProgramTest):
    def look(self, *arguments):
        return self.json_lines("inspect", "rolling", *SMALL, *arguments)

    def test_patterns_side_by_side(self):
        full, blocks = self.look("--pattern", "full", "--pattern", "window_block", "--set", "hops=2", "--set", "b=16")
        self.assertEqual(set(full), {"attention", "name", "n", "seed", "shifts", "errors", "options"})
        self.assertEqual((full["name"], blocks["name"]), ("full", "window_block"))
        self.assertEqual(full["shifts"], [0, 1, 2, 4, 8, 16])
        # Two evaluations in float64, rounded differently.
        self.assertLess(max(full["errors"]), 1e-12)
        self.assertGreater(min(blocks["errors"][1:-1]), 1e-3)
        self.assertLess(blocks["errors"][-1], 1e-12, "a whole block")

    def test_other_attentions_and_shifts(self):
        local, = self.look("--attention", "local", "--set", "w=4", "--shifts", "5,3")
        self.assertEqual((local["name"], local["shifts"]), ("local", [5, 3]))
        self.assertGreater(min(local["errors"]), 1e-3, "a window that does not go round")
        softmax, = self.look("--attention", "softmax")
        self.assertLess(max(softmax["errors"]), 1e-12)

    def test_text_and_chart(self):
        out = self.succeed("inspect", "rolling", *SMALL, "--pattern", "window_band+global", "--svg", "r.svg").stdout.decode()
        for part in ["diffuser, 48 tokens", "shift", "window_band+global", "16"]:
            self.assertIn(part, out)
        with open(self.path("r.svg")) as file:
            root = xml.etree.ElementTree.fromstring(file.read())
        self.assertTrue(root.tag.endswith("svg"))

    def test_refused(self):
        for arguments, part in [(["--pattern", "windows"], "unknown pattern 'windows'"),
                                (["--attention", "local", "--pattern", "full"], "only the attention diffuser"),
                                (["--shifts", "48"], "a shift must be less than --n = 48"),
                                (["--attention", "lavo", "--set", "rr=1"], "unknown field 'rr'"),
                                (["--svg", self.write("a.txt", b"text")], "a.txt")]:
            self.refuse("inspect", "rolling", *SMALL, *arguments, containing=[part])


if __name__ == "__main__":
    harness.main()
