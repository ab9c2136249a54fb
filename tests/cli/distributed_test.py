"""longspan train by several processes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import harness
from harness import TINY_LAVO

OPTIONS = [*TINY_LAVO, "--threads", "1", "--set", "train.batch=4", "--set", "train.schedule=constant", "--json", "--quiet"]


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def python_with_torch():
    """An interpreter that has torchrun, or None."""
    here = os.path.dirname(os.path.abspath(__file__))
    for python in [os.path.join(here, "../../.venv/bin/python"), sys.executable]:
        if os.path.exists(python) and subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            return python
    return None


def steps(output):
    rows = [json.loads(line) for line in output.decode().splitlines()]
    return {row["step"]: row for row in rows if row["event"] == "step"}


def bound(step, loss):
    """Rounding of losses and gradients: every step's weights differ by that of sums over 4 * 64 targets and over what
    the two layers sum on their way, in float32."""
    terms = 4 * 64 + 2 * (4 * 16 + 2 * 32 + 2 * 64)
    return step * terms * 2.0**-24 * loss


class DistributedTest(harness.ProgramTest):
    def start(self, out, *arguments, size=2, environment=None):
        """`size` processes of one run."""
        port = free_port()
        processes = []
        for rank in range(size):
            variables = {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            processes.append(subprocess.Popen(
                [harness.PROGRAM, "train", "data", "--out", out, *OPTIONS, *arguments], cwd=self.folder,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **variables, **(environment or {})}))
            self.addCleanup(self.end, processes[-1])
        return processes

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def finish(self, processes, status=0):
        """Standard output and error of every process."""
        results = []
        for process in processes:
            out, error = process.communicate(timeout=240)
            self.assertEqual(process.returncode, status, error.decode(errors="replace"))
            results.append((out, error))
        return results

    def wait_for_step(self, process):
        while True:
            row = json.loads(process.stdout.readline())
            if row["event"] == "step":
                return

    def alone(self, out, *arguments):
        return steps(self.succeed("train", "data", "--out", out, *OPTIONS, *arguments).stdout)

    def assert_curve(self, curve, expected):
        self.assertEqual(set(curve), set(expected))
        for step, row in expected.items():
            self.assertLess(abs(curve[step]["loss"] - row["loss"]), bound(step, row["loss"]), f"step {step}")

    def test_two_processes_give_the_curve_of_one(self):
        self.prepared()
        for name, more in [("windows", ["--set", "model.dropout=0.1"]),
                           ("documents", ["--set", "train.sequences=documents"]),
                           ("carried", ["--set", "train.sequences=carried", "--set", "train.accumulation=2"])]:
            with self.subTest(name):
                more = [*more, "--set", "train.steps=6"]
                expected = self.alone(name + "-one", *more)
                first, second = self.finish(self.start(name + "-two", *more))
                self.assert_curve(steps(first[0]), expected)
                self.assertEqual(second, (b"", b""), "process 1 is silent")
                self.assertEqual(set(os.listdir(self.path(name + "-two"))), set(os.listdir(self.path(name + "-one"))))

    def test_a_resumed_run_repeats_the_bits(self):
        self.prepared()
        more = ["--set", "train.sequences=carried", "--set", "model.dropout=0.1"]
        whole = steps(self.finish(self.start("whole", *more, "--set", "train.steps=6"))[0][0])
        parts = steps(self.finish(self.start("parts", *more, "--set", "train.steps=3"))[0][0])
        parts |= steps(self.finish(self.start("parts", "--resume", "--set", "train.steps=6"))[0][0])
        self.assertEqual({step: row["loss"] for step, row in parts.items()}, {step: row["loss"] for step, row in whole.items()})
        # One process goes on with what two have left.
        once_more = self.alone("parts", "--resume", "--set", "train.steps=7")
        self.assertEqual(set(once_more), {7})

    def test_torchrun(self):
        python = python_with_torch()
        if not python:
            self.skipTest("no Python with torch")
        self.prepared()
        expected = self.alone("one", "--set", "train.steps=3")
        result = subprocess.run(
            [python, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(free_port()), "--no-python",
             harness.PROGRAM, "train", "data", "--out", "two", *OPTIONS, "--set", "train.steps=3"],
            cwd=self.folder, capture_output=True, timeout=240)
        self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace"))
        self.assert_curve(steps(result.stdout), expected)

    def test_a_lost_process_ends_the_other(self):
        self.prepared()
        for lost in [0, 1]:
            with self.subTest(lost=lost):
                processes = self.start(f"lost-{lost}", "--set", "train.steps=1000000")
                self.wait_for_step(processes[0])
                processes[lost].kill()
                left = processes[1 - lost]
                _, error = left.communicate(timeout=60)
                self.assertEqual(left.returncode, 1)
                self.assertEqual(len(error.decode().splitlines()), 1, error)
                self.assertIn(b"another process was lost", error)

    def test_one_that_does_not_come_is_waited_for_until_the_time_is_up(self):
        self.prepared()
        variables = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        result = self.run_program("train", "data", "--out", "waiting", *OPTIONS, "--set", "train.peer_timeout=2", environment=variables)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(len(result.stderr.decode().splitlines()), 1, result.stderr)

    def test_one_that_cannot_take_part_ends_the_others_at_once(self):
        self.prepared()
        variables = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
        for failing in [0, 1]:
            with self.subTest(failing=failing):
                variables["MASTER_PORT"] = str(free_port())
                others = ["train", "data", "--out", f"failing-{failing}", *OPTIONS]
                processes = [
                    subprocess.Popen([harness.PROGRAM, *others, *(["--set", "train.batch=0"] if rank == failing else [])],
                                     cwd=self.folder, stderr=subprocess.PIPE, env={**os.environ, **variables, "RANK": str(rank)})
                    for rank in [0, 1]
                ]
                for process in processes:
                    self.addCleanup(self.end, process)
                # The others' own patience is 600 seconds.
                errors = [process.communicate(timeout=120)[1].decode() for process in processes]
                self.assertEqual(processes[failing].returncode, 2, errors)
                self.assertEqual(processes[1 - failing].returncode, 1, errors)
                self.assertEqual(len(errors[1 - failing].splitlines()), 1, errors)
                self.assertIn(f"process {failing} cannot take part: train: batch", errors[1 - failing])

    def test_an_interrupt_ends_the_wait_for_the_others(self):
        self.prepared()
        waiting = self.start("waiting", size=1, environment={"WORLD_SIZE": "2"})[0]
        time.sleep(3)  # either way it ends: before it waits, too
        waiting.send_signal(signal.SIGTERM)
        self.assertIn(b"interrupted", waiting.communicate(timeout=60)[1])
        self.assertEqual(waiting.returncode, 130)

    def test_an_interrupt_of_one_ends_all_with_a_checkpoint(self):
        self.prepared()
        processes = self.start("model", "--set", "train.steps=1000000")
        self.wait_for_step(processes[0])
        processes[1].send_signal(signal.SIGINT)
        self.finish(processes, status=130)
        done = max(int(name.removeprefix("step-")) for name in os.listdir(self.path("model/checkpoints")))
        rest = steps(self.finish(self.start("model", "--resume", "--set", f"train.steps={done + 2}"))[0][0])
        self.assertEqual(set(rest), {done + 1, done + 2})

    def test_wrong_surroundings(self):
        self.prepared()
        arguments = ["train", "data", "--out", "model", *OPTIONS]
        self.refuse(*arguments, environment={"RANK": "0", "WORLD_SIZE": "two"}, containing=["WORLD_SIZE", "'two'"])
        self.refuse(*arguments, environment={"RANK": "2", "WORLD_SIZE": "2"}, containing=["RANK", "'2'"])
        self.refuse(*arguments, environment={"WORLD_SIZE": "2"}, containing=["RANK"])
        self.refuse(*arguments, environment={"RANK": "0", "WORLD_SIZE": "2", "MASTER_PORT": "1"}, containing=["MASTER_ADDR"])


if __name__ == "__main__":
    harness.main()
