#!/usr/bin/env python3
"""mpfec beside the kernel's own transports, over links that `mpfec lab` emulates.

    compare.py goodput                     # one after the other over the same links
    compare.py fairness                    # with a kernel CUBIC flow in one bottleneck
    compare.py fairness --beside bbr       # with a flow of the kernel's BBR, or several (--flows 5)
    compare.py points                      # over points of the scenario `grid`
    compare.py blocks                      # paced blocks beside a kernel CUBIC flow in one bottleneck
    compare.py upload                      # the same beside a kernel CUBIC flow in the other direction

Each prints a table in Markdown. It needs Linux, root, iproute2 with `ip mptcp`, Python 3.9, and
TCP BBR and MPTCP in the kernel. So that other programs on the machine disturb less, run it at
real-time priority: chrt -f 50 python3 benches/kernel/compare.py goodput
"""

import argparse
import concurrent.futures
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import links
from lab import Flow, Run, limit

# Payload in full packets on the link: of mpfec as in its limits, of TCP with timestamps.
PAYLOAD = {"mpfec": 0.957, "tcp": 1448 / 1500}
# Goodput counts as missed below this share of the best contender's, the least step of the tables.
CLOSE = 0.995
# What is asked of a share, and where two CUBIC flows share evenly enough for it to be judged.
FAIR = (0.6, 1.4)
EVEN = (0.8, 1.2)


def run_all(args, runs):
    """Results of runs in their order, as many at a time as asked for."""
    with concurrent.futures.ThreadPoolExecutor(args.parallel) as pool:
        futures = [pool.submit(run.measure, args.mpfec) for run in runs]
        results = []
        for number, (run, future) in enumerate(zip(runs, futures), 1):
            try:
                flows, crossed = future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            results.append((flows, crossed))
            what = {"links": Path(run.links).stem, "flows": [flow.kind for flow in run.flows], "crossed": crossed}
            if args.log:
                with open(args.log, "a") as log:
                    print(json.dumps({**what, "seed": run.seed, "results": flows}), file=log)
            print(f"{number} of {len(runs)}: {what['links']} {what['flows']}", file=sys.stderr)
    return results


def table(head, rows):
    """Markdown, the first column to the left."""
    print("| " + " | ".join(head) + " |")
    print("| --- |" + " ---: |" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def goodput(args):
    compare(args, [(Path(name).stem, name, 1) for name in args.links])


def points(args):
    compare_texts(args, [(name, links.point(name), links.least_lossy(name)) for name in args.points])


def upload(args):
    compare_texts(args, [(name, links.access(name), 1) for name in args.accesses], uploads=True)


def compare_texts(args, texts, uploads=False):
    """What `compare` does, over set-ups whose texts are given instead of files."""
    with tempfile.TemporaryDirectory(prefix="mpfec-links-") as directory:
        named = []
        for name, text, first in texts:
            file = Path(directory, name.split(":")[0].replace(" ", "-") + ".toml")
            file.write_text(text)
            named.append((name, str(file), first))
        compare(args, named, uploads)


def compare(args, named, uploads=False):
    """Goodput of every contender over every set-up, medians.

    `named` has what a set-up is called, the set-up or file, and the path that MPTCP begins with.
    With `uploads` a CUBIC flow crosses each path in the other direction, two seconds later.
    """
    limits = {file: limit(args.mpfec, file) for _, file, _ in named}
    singles = ("bbr", "cubic") if uploads else ("bbr",)
    runs, places = [], []
    for name, file, first in named:
        paths = limits[file][1]
        alone = [tuple(Flow(kind, path) for path in range(1, paths + 1)) for kind in singles]
        multipath = ("mptcp-bbr", "mptcp-cubic") if paths > 1 else ()
        contenders = [(Flow("mpfec"),), *((Flow(kind, first),) for kind in multipath), *alone]
        others = tuple(Flow("cubic", path, start=2.0, back=True) for path in range(1, paths + 1))
        for seed in range(1, args.runs + 1):
            for flows in contenders:
                crossing = flows + others if uploads else flows
                runs.append(Run(file, paths, crossing, args.warmup, args.time, seed))
                places.append((name, flows))
    gathered = {}
    for place, (flows, _) in zip(places, run_all(args, runs)):
        own = flows[: len(place[1])]
        gathered.setdefault(place, []).append([flow["goodput_mbps"] for flow in own])
    rows, missed = [], []
    for name, file, _ in named:
        most, paths = limits[file]
        # A median for each flow.
        figures = {
            flows: [statistics.median(column) for column in zip(*gathered[place, flows])]
            for place, flows in gathered
            if place == name
        }
        own = figures.pop((Flow("mpfec"),))[0]
        theirs = {flows[0].kind: columns for flows, columns in figures.items()}
        single = [figure for kind in singles for figure in theirs[kind]]
        mptcp = [theirs[kind][0] if kind in theirs else None for kind in ("mptcp-bbr", "mptcp-cubic")]
        best = max([*single, *(figure for figure in mptcp if figure is not None)])
        if own < CLOSE * best:
            missed.append(f"{name} ({own:.1f}, {best:.1f})")
        told = ["-" if figure is None else f"{figure:.1f}" for figure in mptcp]
        alone = [", ".join(f"{figure:.1f}" for figure in theirs[kind]) for kind in singles]
        rows.append([name, f"{most:.1f}", f"{own:.1f}", f"{own / most:.0%}".replace("%", " %"), *told, *alone])
    head = ["set-up", "limit", "mpfec", "share", "MPTCP, BBR", "MPTCP, CUBIC"]
    head += [f"{kind.upper()}, each path alone" for kind in singles]
    table(head, rows)
    print(f"\nBelow the best of the others: {'; '.join(missed) or 'none'}")


def fairness(args):
    """Shares of one bottleneck beside TCP flows that start three seconds later."""
    cells = [(rate, rtt, queue) for rate in args.rates for rtt in args.rtts for queue in args.queues]
    others = (Flow(args.beside, start=3.0),) * args.flows
    both = ("--path", "10.77.1.1", "--path", "10.77.1.3")
    own = {"one subflow": Flow("mpfec"), "two subflows": Flow("mpfec", options=both)}
    instead = {f"{kind.upper()} instead": Flow(kind) for kind in ("cubic", args.beside)}
    # Whether others of that kind share evenly.
    reference = f"{args.beside.upper()} instead"
    variants = {name: (flow, *others) for name, flow in (own | instead).items()}
    with tempfile.TemporaryDirectory(prefix="mpfec-cells-") as directory:
        runs = []
        for cell in cells:
            file = Path(directory, f"{'-'.join(f'{figure:g}' for figure in cell)}.toml")
            file.write_text(links.bottleneck(*cell))
            for flows in variants.values():
                for seed in range(1, args.runs + 1):
                    runs.append(Run(str(file), 1, flows, args.warmup, args.time, seed, more_addresses=1))
        results = iter(run_all(args, runs))
        shares = {}
        for cell in cells:
            for variant, flows in variants.items():
                each = [share(cell[0], flows, next(results)) for _ in range(args.runs)]
                shares[cell, variant] = [statistics.median(column) for column in zip(*each)]
    rows, missed, judged = [], [], 0
    for cell in cells:
        rate, rtt, queue = cell
        name = f"{rate:g} Mbit/s, {rtt:g} ms, {queue:g} BDP"
        of = {variant: shares[cell, variant] for variant in variants}
        is_judged = all(EVEN[0] <= one <= EVEN[1] for one in of[reference][:2])
        row = [name]
        for variant, (first, second, dropped) in of.items():
            row.append(f"{first:.2f} : {second:.2f}, {dropped:.1f} %")
            if variant in own and is_judged:
                judged += 1
                if not FAIR[0] <= first <= FAIR[1]:
                    missed.append(f"{variant} at {name} ({first:.2f})")
        rows.append(row)
    table(["bottleneck", *(f"{variant}" for variant in variants)], rows)
    print(f"\nJudged: {judged} of {2 * len(cells)}. Outside: {'; '.join(missed) or 'none'}")


def blocks(args):
    """Delay of paced blocks beside a CUBIC flow that starts three seconds later."""
    cells = [(load, rtt, queue) for load in args.loads for rtt in args.rtts for queue in args.queues]
    rows = []
    with tempfile.TemporaryDirectory(prefix="mpfec-cells-") as directory:
        runs = []
        for load, rtt, queue in cells:
            file = Path(directory, f"{rtt:g}-{queue:g}.toml")
            file.write_text(links.bottleneck(args.rate, rtt, queue))
            flows = (Flow("mpfec", options=("--rate", f"{load:g}")), Flow("cubic", start=3.0))
            for seed in range(1, args.runs + 1):
                runs.append(Run(str(file), 1, flows, args.warmup, args.time, seed))
        results = iter(run_all(args, runs))
        for load, rtt, queue in cells:
            each = [delayed(next(results)) for _ in range(args.runs)]
            middle, late, mpfec, tcp, lost = (statistics.median(column) for column in zip(*each))
            name = f"{load:g} of {args.rate:g} Mbit/s, {rtt:g} ms, {queue:g} BDP"
            rows.append([name, f"{middle:.0f}, {late:.0f}", f"{mpfec:.1f}", f"{tcp:.1f}", f"{lost:.1f} %"])
    table(["blocks, bottleneck", "median, 99 % (ms)", "mpfec", "CUBIC", "dropped"], rows)


def delayed(measured):
    """Median and 99th percentile of the blocks' delay, what both flows carried, and what was dropped."""
    (mpfec, tcp), crossed = measured
    delay = mpfec["block_delay_ms"]
    return [delay["p50"], delay["p99"], mpfec["goodput_mbps"], tcp["goodput_mbps"], dropped(crossed)]


def dropped(crossed):
    """Percent of the first path's packets that its queue drops on the way to the server."""
    forward = crossed[0]["forward"]
    return 100 * forward["queue_drops"] / forward["packets"]


def share(rate, flows, measured):
    """What the first flow takes, an equal share being 1, and the others in the mean, and percent
    that the queue drops."""
    results, crossed = measured
    taken = [
        len(flows) * got["goodput_mbps"] / (rate * PAYLOAD.get(flow.kind, PAYLOAD["tcp"]))
        for flow, got in zip(flows, results)
    ]
    return [taken[0], statistics.mean(taken[1:]), dropped(crossed)]


def parser():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = words.add_subparsers(required=True)

    def command(name, run, warmup, seconds, runs):
        made = commands.add_parser(name, help=run.__doc__)
        made.set_defaults(run=run)
        made.add_argument("--warmup", type=float, default=warmup, help="seconds that do not count")
        made.add_argument("--time", type=float, default=seconds, help="seconds that count")
        made.add_argument("--runs", type=int, default=runs, help="of which the median counts")
        made.add_argument("--parallel", type=int, default=1, help="labs at a time")
        made.add_argument("--mpfec", default=shutil.which("mpfec") or "mpfec", help="the program")
        made.add_argument("--log", help="append what every run said to this file")
        return made

    made = command("goodput", goodput, 5, 10, 3)
    made.add_argument("links", nargs="*", default=links.PAPERS, help="set-ups or files")
    made = command("points", points, 5, 10, 3)
    made.add_argument("points", nargs="*", default=links.POINTS, help="as the scenario calls them")
    made = command("upload", upload, 5, 20, 3)
    made.add_argument("accesses", nargs="*", default=list(links.ACCESSES), help=", ".join(links.ACCESSES))
    made = command("fairness", fairness, 20, 60, 1)
    made.add_argument("--rates", type=numbers, default=[10, 30], help="Mbit/s, with commas")
    made.add_argument("--rtts", type=numbers, default=[20, 50, 200], help="ms")
    made.add_argument("--queues", type=numbers, default=[0.25, 1, 4], help="bandwidth-delay products")
    made.add_argument("--beside", choices=("cubic", "reno", "bbr"), default="cubic", help="what TCP has")
    made.add_argument("--flows", type=positive, default=1, help="of TCP, 1 or more")
    made = command("blocks", blocks, 10, 60, 3)
    made.add_argument("--rate", type=float, default=10, help="Mbit/s of the bottleneck")
    made.add_argument("--loads", type=numbers, default=[2, 4], help="Mbit/s that are written")
    made.add_argument("--rtts", type=numbers, default=[20, 100], help="ms")
    made.add_argument("--queues", type=numbers, default=[0.25, 1, 4], help="bandwidth-delay products")
    return words


def positive(text):
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def numbers(text):
    return [float(word) for word in text.split(",")]


if __name__ == "__main__":
    chosen = parser().parse_args()
    # Runs are in a directory of their own.
    chosen.mpfec = shutil.which(chosen.mpfec) or sys.exit(f"there is no {chosen.mpfec}")
    chosen.mpfec = str(Path(chosen.mpfec).resolve())
    chosen.run(chosen)
