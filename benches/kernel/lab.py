"""Flows across the links of `mpfec lab`: what to run in a lab, and what comes out."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

TCP = Path(__file__).with_name("tcp.py")
# What the kernel may grow a flow's buffers to: as much as mpfec may.
MOST_BUFFER = 64 << 20
BUFFERS = (
    f"echo 4096 131072 {MOST_BUFFER} > /proc/sys/net/ipv4/tcp_rmem; "
    f"echo 4096 16384 {MOST_BUFFER} > /proc/sys/net/ipv4/tcp_wmem; "
)
# Seconds that a run may take beyond its flows.
PATIENCE = 60.0


@dataclass(frozen=True)
class Flow:
    """One flow from the client to the server of a lab, or back."""

    # "mpfec", "cubic", "bbr", "reno"; with "mptcp-" before it over every path.
    kind: str
    # Path that a TCP flow takes, and an MPTCP flow begins with, from 1.
    path: int = 1
    # Seconds after the start of the run.
    start: float = 0.0
    # Words for `mpfec perf client`.
    options: tuple = ()
    # From the server to the client; of TCP only.
    back: bool = False

    def command(self, mpfec, warmup, seconds):
        """What to run at the client."""
        warm = f"--warmup {warmup - self.start:g} --time {seconds:g}"
        if self.kind == "mpfec":
            words = " ".join(map(shlex.quote, self.options))
            return (
                f"sleep {self.start:g}; until [ -s ticket ]; do sleep 0.05; done; "
                f"{shlex.quote(mpfec)} perf client --json --ticket-file ticket {warm} {words}"
            )
        congestion = self.kind.removeprefix("mptcp-")
        is_multipath = congestion != self.kind
        which = "--mptcp --port 47901" if is_multipath else ""
        verb = "fetch" if self.back else "send"
        # Python is there by then: to start many at once holds everything up.
        warm += f" --after {self.start:g}" if self.start else ""
        return (
            f"python3 {shlex.quote(str(TCP))} {verb} 10.77.{self.path}.2 --bind 10.77.{self.path}.1 "
            f"--congestion {congestion} {warm} {which}"
        )


@dataclass(frozen=True)
class Run:
    """Flows that are under way at the same time in a lab of their own."""

    # Built-in set-up or file, as `mpfec lab --links` takes it.
    links: str
    # How many there are.
    paths: int
    flows: tuple
    warmup: float
    seconds: float
    seed: int = 1
    # Further addresses at the client, on the first path: 10.77.1.3 and so on.
    more_addresses: int = 0

    def server(self, mpfec):
        """What to run at the server."""
        tcp = shlex.quote(str(TCP))
        return (
            f"{BUFFERS} python3 {tcp} serve & python3 {tcp} serve --mptcp --port 47901 & "
            f"exec {shlex.quote(mpfec)} perf server --quiet --ticket-file ticket"
        )

    def client(self, mpfec):
        """What to run at the client: all flows, each with its result in a file."""
        lines = [BUFFERS, f"ip mptcp limits set subflows {max(self.paths - 1, 1)}"]
        # The path that a connection begins with needs no endpoint.
        begin = {flow.path for flow in self.flows}
        for path in set(range(1, self.paths + 1)) - begin:
            interface = f"$(echo $MPFEC_INTERFACES | cut -d' ' -f{path})"
            lines.append(f"ip mptcp endpoint add 10.77.{path}.1 dev {interface} subflow")
        for number in range(self.more_addresses):
            interface = "$(echo $MPFEC_INTERFACES | cut -d' ' -f1)"
            lines.append(f"ip addr add 10.77.1.{3 + number}/24 dev {interface}")
        # The servers may just be starting.
        lines.append("until [ -s ticket ]; do sleep 0.05; done; sleep 0.3")
        for number, flow in enumerate(self.flows):
            command = flow.command(mpfec, self.warmup, self.seconds)
            lines.append(f"({command}) > flow-{number} &")
        return "\n".join([*lines, "wait"])

    def measure(self, mpfec):
        """Runs it; returns what the flows printed last, and what the lab counted."""
        with tempfile.TemporaryDirectory(prefix="mpfec-kernel-") as name:
            # A file's path holds from elsewhere as well.
            links = os.path.abspath(self.links) if os.path.exists(self.links) else self.links
            words = [mpfec, "lab", "--json", "--seed", str(self.seed), "--links", links]
            words += ["--server", self.server(mpfec), "--", "sh", "-c", self.client(mpfec)]
            limit = self.warmup + self.seconds + PATIENCE
            told, complaint = finished(words, name, limit)
            try:
                flows = [result(Path(name, f"flow-{n}").read_text()) for n in range(len(self.flows))]
                crossed = result(told, "crossed")["paths"]
            except (OSError, LookupError, ValueError) as error:
                sys.exit(f"a run over {self.links} failed ({error!r}):\n{complaint}")
        for flow, got in zip(self.flows, flows):
            # The kernel gives up subflows that lose much; if it does so elsewhere, something is wrong.
            if flow.kind.startswith("mptcp-") and got["subflows"] != self.paths:
                print(f"{flow.kind} ended with {got['subflows']} subflows", file=sys.stderr)
        return flows, crossed


def finished(words: list[str], cwd: str, limit: float) -> tuple[str, str]:
    """What a command prints, on both streams. One that takes longer than `limit` seconds is asked
    to end, so that it ends what it has started."""
    with subprocess.Popen(
        words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            return running.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            running.terminate()
            return running.communicate()


def result(text, kind=None):
    """The last line of JSON in a program's output, or the last of a type."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [line for line in lines if kind is None or line.get("type") == kind][-1]


def limit(mpfec, links):
    """Mbit/s of payload that a set-up can carry, and the number of its paths."""
    words = [mpfec, "lab", "--json", "--links", links, "--", "true"]
    told = subprocess.run(words, capture_output=True, text=True, check=False)
    if told.returncode:
        sys.exit(told.stderr)
    lab = result(told.stdout, "lab")
    return lab["limit_mbps"], len(lab["paths"])
