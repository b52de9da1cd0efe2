# SPDX-License-Identifier: Apache-2.0
"""A whole job on this machine, for benchmarks: Mosquitto on a free port of 127.0.0.1, weft-ps, and
workers. Whatever was started ends with the `with`."""
import pathlib
import socket
import subprocess
import sys
import tempfile
import time


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class LocalJob:
    def __init__(self, programs):
        self._programs = pathlib.Path(programs)
        self._started = []
        self._scratch = tempfile.TemporaryDirectory(prefix="weft-bench-")
        self.folder = pathlib.Path(self._scratch.name)
        self._port = _free_port()

    def __enter__(self):
        config = self.folder / "mosquitto.conf"
        config.write_text(f"listener {self._port} 127.0.0.1\nallow_anonymous true\n"
                          "persistence false\nset_tcp_nodelay true\nmax_queued_messages 256\n"
                          "max_inflight_messages 20\n")
        self.broker = self._start("mosquitto", "-c", config, stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.05)
        sys.exit("the broker does not come up")

    def __exit__(self, *_):
        for process in self._started:
            process.kill()
            process.wait()
        self._scratch.cleanup()

    def _start(self, *command, **more):
        self._started.append(subprocess.Popen([str(word) for word in command], **more))
        return self._started[-1]

    def run(self, program, *arguments):
        """One of weft's programs, to its end."""
        subprocess.run([str(self._programs / program), *(str(word) for word in arguments)],
                       check=True, stdout=subprocess.DEVNULL)

    def serve(self, *arguments, listen=False):
        """weft-ps; its lines of JSON are in its stdout if somebody listens, and must be read then."""
        return self._start(self._programs / "weft-ps", "serve", "--broker",
                           f"127.0.0.1:{self._port}", "--job", "bench", "--state",
                           self.folder / "state", "--json", *arguments, text=True,
                           stdout=subprocess.PIPE if listen else subprocess.DEVNULL)

    def train(self, worker, *arguments, listen=False):
        """weft-edge as that worker; the same."""
        return self._start(self._programs / "weft-edge", "train", "--broker",
                           f"127.0.0.1:{self._port}", "--job", "bench", "--worker", f"w{worker}",
                           "--json", *arguments, text=True,
                           stdout=subprocess.PIPE if listen else subprocess.DEVNULL)

    def exit_codes(self):
        """Of all but the broker, when they have ended."""
        return [process.wait() for process in self._started if process is not self.broker]
