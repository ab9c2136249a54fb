"""Tests of check_includes.py on small trees with one fault each; run with python3."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_includes


class CheckIncludes(unittest.TestCase):
    def faults(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return check_includes.check(root)

    def include(self, source, target):
        """Faults of `source` including the existing file `target`."""
        return self.faults({source: '#include "%s"\n' % target, target: ""})

    def assert_refused(self, source, target, words):
        found = self.include(source, target)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])
        self.assertTrue(found[0].startswith(source + ":1: "), found[0])

    def test_downward_and_own_folder_pass(self):
        self.assertEqual(self.include("longspan/nn/a.cc", "longspan/ops/local_attention/a.h"), [])
        self.assertEqual(self.include("longspan/kernels/local/a.cc", "longspan/kernels/local/a.h"), [])
        self.assertEqual(self.include("longspan/kernels/local/a.cc", "longspan/kernels/common/a.h"), [])
        self.assertEqual(self.include("longspan/ops/local_attention/a.cc", "longspan/ops/parallel.h"), [])
        self.assertEqual(self.include("tools/longspan/a.cc", "longspan/train/a.h"), [])
        self.assertEqual(self.include("tests/nn/a.cc", "longspan/testing/compare.h"), [])

    def test_upward_is_refused(self):
        self.assert_refused("longspan/kernels/local/a.cc", "longspan/ops/a.h", "may not include")
        self.assert_refused("longspan/base/a.h", "longspan/simd/a.h", "may not include")
        self.assert_refused("longspan/nn/a.cc", "tools/longspan/a.h", "may not include")

    def test_sideways_is_refused(self):
        self.assert_refused("longspan/io/a.cc", "longspan/simd/a.h", "may not include")
        self.assert_refused("longspan/kernels/local/a.cc", "longspan/kernels/memory/a.h", "do not see each other")
        self.assert_refused("longspan/kernels/common/a.cc", "longspan/kernels/local/a.h", "do not see each other")
        self.assert_refused("longspan/ops/a/a.cc", "longspan/ops/b/a.h", "do not see each other")

    def test_narrowed_layers(self):
        self.assert_refused("longspan/ops/a.cc", "longspan/io/a.h", "may include only")
        self.assert_refused("longspan/report/a.cc", "longspan/nn/a.h", "may include only")
        self.assert_refused("longspan/testing/reference/a.cc", "longspan/simd/a.h", "may not include")

    def test_product_code_includes_no_test_support(self):
        self.assert_refused("longspan/nn/a.cc", "longspan/testing/compare.h", "test support")
        self.assert_refused("tools/longspan/a.cc", "longspan/testing/properties/a.h", "test support")

    def test_foreign_headers(self):
        self.assertEqual(len(self.faults({"longspan/kernels/a.cc": "#include <ATen/ATen.h>\n"})), 1)
        self.assertEqual(len(self.faults({"longspan/nn/a.cc": '#include "hwy/highway.h"\n'})), 1)
        self.assertEqual(self.faults({"longspan/nn/a.cc": "#include <torch/types.h>\n#include <vector>\n"}), [])
        self.assertEqual(self.faults({"longspan/simd/a.cc": '#include "hwy/highway.h"\n'}), [])

    def test_relative_include_and_unknown_folder(self):
        self.assertEqual(self.faults({"longspan/nn/a.cc": '#include "b.h"\n', "longspan/nn/b.h": ""}), [])
        self.assertEqual(self.faults({"tools/longspan/a.cc": '#include "demo/b.h"\n', "tools/longspan/demo/b.h": ""}), [])
        self.assertEqual(
            len(self.faults({"longspan/nn/a.cc": '#include "../ops/b.h"\n', "longspan/ops/b.h": ""})), 1)
        self.assertEqual(len(self.faults({"longspan/extra/a.cc": ""})), 1)

    def test_outputs_are_skipped_at_the_root_alone(self):
        text = '#include "../x.h"\n'
        self.assertEqual(self.faults({"build-a/a.cc": text, "demo/a.cc": text, ".venv/a.cc": text}), [])
        self.assertEqual(len(self.faults({"tools/longspan/demo/a.cc": text})), 1)

    def test_long_file(self):
        self.assertEqual(self.faults({"longspan/nn/a.cc": "\n" * 800}), [])
        self.assertEqual(len(self.faults({"longspan/nn/a.cc": "\n" * 801})), 1)


if __name__ == "__main__":
    unittest.main()
