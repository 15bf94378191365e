#!/usr/bin/env python3
"""One TCP or MPTCP flow of the kernel, and how much of it arrives.

    tcp.py serve
    tcp.py send 10.77.1.2 --congestion bbr --warmup 5 --time 10
    tcp.py send 10.77.1.2 --mptcp --congestion cubic
    tcp.py fetch 10.77.1.2 --warmup 5 --time 10

Who takes the flow, the server or with `fetch` the client, counts what its application reads from
`warmup` seconds after the first byte on, for `time` seconds; a server tells the client over the same
connection. The client prints one JSON object.
Needs Linux and nothing but Python 3.8.
"""

import argparse
import json
import socket
import struct
import sys
import threading
import time

PORT = 47900
# The client's first bytes: warm-up and time in seconds, and the congestion control of a flow that the
# server is to send, empty if it is to take one.
ORDER = struct.Struct("!dd16s")
CHUNK = bytes(1 << 16)
# Seconds in which a server may start.
PATIENCE = 3.0
# Seconds that the answer may be late.
LATE = 15.0
# Of Linux; Python's socket module has them only since 3.12.
IPPROTO_MPTCP = 262
SOL_MPTCP = 284
MPTCP_INFO = 1


def count(receive, clock, warmup, seconds):
    """Bytes that come within `seconds` after the warm-up, or `None` if the flow ends before.

    `receive(limit)` waits until `limit` for the next bytes and returns how many there are, or
    `None` at the end of the flow.
    """
    began = clock()
    warm, over = began + warmup, began + warmup + seconds
    total = 0
    while clock() < over:
        limit = warm if clock() < warm else over
        got = receive(limit)
        if got is None:
            return None
        if clock() >= over:
            break
        if clock() >= warm:
            total += got
    return total


def serve_one(connection):
    with connection:
        try:
            serve_flow(connection)
        except OSError as error:
            print(f"tcp.py: {error}", file=sys.stderr)


def count_flow(connection, warmup, seconds):
    buffer = bytearray(1 << 20)

    def receive(limit):
        connection.settimeout(max(limit - time.monotonic(), 0.001))
        try:
            return connection.recv_into(buffer) or None
        except TimeoutError:
            return 0

    return count(receive, time.monotonic, warmup, seconds)


def serve_flow(connection):
    order = connection.recv(ORDER.size, socket.MSG_WAITALL)
    if len(order) < ORDER.size:
        return
    warmup, seconds, congestion = ORDER.unpack(order)
    if congestion := congestion.rstrip(b"\0"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion)
        return pour(connection)
    got = count_flow(connection, warmup, seconds)
    if got is None:
        return
    connection.settimeout(None)
    connection.sendall(json.dumps({"bytes": got, "seconds": seconds}).encode() + b"\n")
    # What is still on its way is taken, so that the line above is not lost to a reset.
    buffer = bytearray(1 << 20)
    while connection.recv_into(buffer):
        pass


def listen(args):
    kind = IPPROTO_MPTCP if args.mptcp else socket.IPPROTO_TCP
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, kind)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", args.port))
    listener.listen()
    return listener


def accept(listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_one, args=(connection,), daemon=True).start()


def serve(args):
    accept(listen(args))


def pour(flow):
    """Writes until the flow is shut down."""
    try:
        while True:
            flow.sendall(CHUNK)
    except OSError:
        # The measurement is over.
        pass


def subflows(flow):
    """Subflows of an MPTCP connection, the first one included; 0 if it has fallen back to TCP."""
    try:
        info = flow.getsockopt(SOL_MPTCP, MPTCP_INFO, 64)
    except OSError:
        return 0
    return info[0] + 1


def connect(args):
    kind = IPPROTO_MPTCP if args.mptcp else socket.IPPROTO_TCP
    until = time.monotonic() + PATIENCE
    while True:
        flow = socket.socket(socket.AF_INET, socket.SOCK_STREAM, kind)
        flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, args.congestion.encode())
        if args.bind:
            flow.bind((args.bind, 0))
        try:
            flow.connect((args.server, args.port))
            return flow
        except ConnectionRefusedError:
            # The server may just be starting.
            if time.monotonic() > until:
                raise
        time.sleep(0.1)


def measure(args):
    """Sends one flow; returns what the server counted."""
    time.sleep(args.after)
    flow = connect(args)
    flow.sendall(ORDER.pack(args.warmup, args.time, b""))
    threading.Thread(target=pour, args=(flow,), daemon=True).start()
    flow.settimeout(args.warmup + args.time + LATE)
    try:
        answer = flow.makefile("rb").readline()
    except TimeoutError:
        # Not even the answer got through.
        answer = json.dumps({"bytes": 0, "seconds": args.time})
    if not answer:
        raise ConnectionError("the connection ended before the measurement")
    result = json.loads(answer)
    result["goodput_mbps"] = result["bytes"] * 8e-6 / result["seconds"]
    if args.mptcp:
        result["subflows"] = subflows(flow)
    # The result is there: nothing that waits to be sent is of any use.
    flow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    flow.close()
    return result


def send(args):
    print(json.dumps(measure(args)))


def fetched(args):
    """Has the server send a flow; returns what has come of it."""
    time.sleep(args.after)
    flow = connect(args)
    flow.sendall(ORDER.pack(args.warmup, args.time, args.congestion.encode()))
    got = count_flow(flow, args.warmup, args.time)
    if got is None:
        raise ConnectionError("the flow ended before the measurement")
    flow.close()
    return {"bytes": got, "seconds": args.time, "goodput_mbps": got * 8e-6 / args.time}


def fetch(args):
    print(json.dumps(fetched(args)))


def parser():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = words.add_subparsers(required=True)
    server = commands.add_parser("serve", help="take flows until it is ended")
    server.set_defaults(run=serve)
    sender = commands.add_parser("send", help="send one flow")
    sender.set_defaults(run=send)
    fetcher = commands.add_parser("fetch", help="have the server send one flow")
    fetcher.set_defaults(run=fetch)
    for client in (sender, fetcher):
        client.add_argument("server")
        client.add_argument("--bind", help="local address, which chooses the path in a lab")
        client.add_argument("--congestion", default="cubic", help="cubic, bbr, reno")
        client.add_argument("--warmup", type=float, default=5.0, help="seconds that do not count")
        client.add_argument("--time", type=float, default=10.0, help="seconds that count")
        client.add_argument("--after", type=float, default=0.0, help="seconds to wait before it begins")
    for command in (server, sender, fetcher):
        command.add_argument("--mptcp", action="store_true")
        command.add_argument("--port", type=int, default=PORT)
    return words


if __name__ == "__main__":
    try:
        chosen = parser().parse_args()
        chosen.run(chosen)
    except KeyboardInterrupt:
        sys.exit(130)
