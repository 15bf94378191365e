"""Links to measure over, as files for `mpfec lab --links`."""

import re

# The set-ups of the papers, built into mpfec.
PAPERS = [f"fmtcp-{case}" for case in range(1, 9)]
PAPERS += [f"dfec-l{loss}-r{rtt}" for loss in (0, 1, 2, 3, 5) for rtt in (25, 100, 400)]
PAPERS += ["pnc"]

# Every twentieth point of the scenario `grid`, as `mpfec sim run grid` calls them.
POINTS = [
    "20: 29/99/29x4.9@479 2.8/22/1@8",
    "40: 1/35/0.23x1.3@5",
    "60: 9.9/52/3.2x3.4@17 7.9/84/12x1.3@27",
    "80: 2/24/0.17x4.9@5 27/17/1@92",
    "100: 39/14@23",
    "120: 5.1/360/0.21x2@398 18/43/0.45@181 10/79@53",
    "140: 23/310/3.3@588 2.2/81/2.1x2.3@5 34/42/3@31",
    "160: 6.1/33/2.3x2.6@5 3.7/82/28@11 10/38/10x4@60 9.4/81/7x4.2@165",
    "180: 15/47/4.1@106 38/99/3.2x1.7@533 5.5/210/30x2.1@270",
    "200: 2/120/28@10",
]

# Rate in Mbit/s, round trip in ms, loss in percent, mean burst, queue in packets.
PATH = re.compile(r"([\d.]+)/([\d.]+)(?:/([\d.]+)(?:x([\d.]+))?)?@(\d+)")


def paths_of(name):
    """Rate, round trip, loss, burst and queue of each path of a point, `number: path path ...`."""
    matches = [PATH.fullmatch(path) for path in name.split(": ")[1].split()]
    if None in matches:
        raise ValueError(f"{name!r} is no point of the grid")
    return [match.groups() for match in matches]


def least_lossy(name):
    """Which path of a point, from 1, loses least."""
    losses = [float(loss or 0) for _, _, loss, _, _ in paths_of(name)]
    return 1 + losses.index(min(losses))


def point(name):
    """The set-up of a point of the grid, from its name."""
    lines = [f'name = "point-{name.split(":")[0]}"']
    for index, (rate, rtt, loss, burst, queue) in enumerate(paths_of(name), 1):
        lines += [
            "[[path]]",
            f'name = "path-{index}"',
            f"both = {{ rate_mbps = {rate}, delay_ms = {float(rtt) / 2:g}, queue_packets = {queue} }}",
        ]
        if burst:
            lines.append(f"forward = {{ burst = {{ percent = {loss}, length = {burst} }} }}")
        elif loss:
            lines.append(f"forward = {{ loss_percent = {loss} }}")
    return "\n".join(lines) + "\n"


def bottleneck(rate_mbps, rtt_ms, queue_bdp):
    """One path without loss, as the scenario `fairness` has it."""
    return (
        'name = "bottleneck"\n[[path]]\nname = "path-1"\n'
        f"both = {{ rate_mbps = {rate_mbps:g}, delay_ms = {rtt_ms / 2:g} }}\n"
        f"forward = {{ queue_bdp = {queue_bdp:g}, queue_packets_least = 5 }}\n"
    )


# Down and up in Mbit/s, round trip in ms, queue up in packets, loss down in percent of each path.
ACCESSES = {
    "dsl": [(20, 2, 40, 100, 0)],
    "cable": [(100, 10, 20, 200, 0)],
    "lte": [(30, 10, 60, 300, 2)],
    "dsl and lte": [(20, 2, 40, 100, 0), (30, 10, 60, 300, 2)],
}


def access(name):
    """A line, or several, over which somebody else may upload."""
    lines = [f'name = "{name.replace(" ", "-")}"']
    for index, (down, up, rtt, queue, loss) in enumerate(ACCESSES[name], 1):
        lines += [
            "[[path]]",
            f'name = "path-{index}"',
            f"forward = {{ rate_mbps = {down}, delay_ms = {rtt / 2:g}, queue_bdp = 1, loss_percent = {loss} }}",
            f"backward = {{ rate_mbps = {up}, delay_ms = {rtt / 2:g}, queue_packets = {queue} }}",
        ]
    return "\n".join(lines) + "\n"
