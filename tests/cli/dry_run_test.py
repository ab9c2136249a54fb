"""train --dry-run against the run itself. Memory alone: how long something takes is no matter of a test."""

import os
import subprocess
import sys

import harness

# Large enough that a step's tensors outweigh the program, small enough for seconds.
SHAPE = ["--layers", "6", "--width", "128", "--heads", "4", "--feed-forward", "512", "--batch", "2", "--length", "4096",
         "--warmup", "1", "--steps", "2"]
ALLOWED = 0.15


class MemoryTest(harness.ProgramTest):
    def peak_of(self, *arguments):
        """The most memory that the program had resident, in bytes."""
        process = subprocess.Popen([harness.PROGRAM, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024

    def test_peak_memory_within_the_promised_part(self):
        self.prepared()
        for name, arguments in [("lavo", []), ("local", []), ("softmax", []), ("lavo", ["--shape", "llama"])]:
            with self.subTest(name, arguments=arguments):
                run = ["train", "data", "--quiet", "--attention", name, *SHAPE, *arguments]
                row, = self.json_lines(*run, "--dry-run")
                out = "-".join([name, *arguments])
                peak = self.peak_of(*run, "--out", out)
                print("%s: %d MiB, estimated %d MiB" % (out, peak >> 20, int(row["peak_bytes"]) >> 20), file=sys.stderr)
                self.assertLess(abs(row["peak_bytes"] - peak), ALLOWED * peak)

    def dry(self, *arguments, **options):
        row, = self.json_lines("train", "data", "--quiet", "--dry-run", *harness.TINY_LAVO, *arguments, **options)
        return row

    def test_rows_that_carry_states_need_them_twice(self):
        self.prepared()
        windows, carried = [self.dry("--set", "train.batch=8", "--set", "train.sequences=" + name, "--set", "train.valid_every=1")
                            for name in ["windows", "carried"]]
        more = carried["activation_bytes"] - windows["activation_bytes"]
        self.assertEqual(more, 2 * 8 * windows["state_bytes"])

    def test_memory_and_time_are_those_of_each_process(self):
        self.prepared()
        two = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
        # As many tokens at once as one process with half the batch has.
        whole, half, shared = self.dry("--batch", "64"), self.dry("--batch", "32"), self.dry("--batch", "64", environment=two)
        self.assertEqual(shared["processes"], 2)
        self.assertEqual(shared["activation_bytes"], half["activation_bytes"])
        self.assertLess(shared["activation_bytes"], whole["activation_bytes"])
        self.refuse("train", "data", *harness.TINY_LAVO, "--dry-run", "--batch", "3", environment=two, containing=["batch must be a multiple"])

    def test_refuses_what_the_run_refuses(self):
        self.prepared()
        for flags, reason in [(["--accumulation", "3"], "batch must be a multiple of accumulation"),
                              (["--batch", "1000", "--sequences", "carried"], "the 1000 parts that carried rows read"),
                              (["--sequences", "carried", "--positions", "learned"], "learned positions end at"),
                              (["--set", "train.reset_at_documents=true"], "reset_at_documents has a use with")]:
            with self.subTest(flags=flags):
                self.refuse("train", "data", *harness.TINY_LAVO, *flags, "--dry-run", containing=[reason])


if __name__ == "__main__":
    harness.main()
