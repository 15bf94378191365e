//! Which figures are committed, and what they are held to.

use super::table::{Column, Figure, Row, Table};

/// In the order in which they are made.
pub(super) const TABLES: &[Table] = &[LIMITS, FAIRNESS, SELF, BALANCE, FILL];

const fn column(name: &'static str, variant: &'static str, metric: &'static str) -> Column {
    Column {
        name,
        variant,
        metric,
    }
}

const fn figure(
    name: &'static str,
    value: fn(&Row) -> f64,
    range: fn(&Row) -> Option<(f64, f64)>,
) -> Figure {
    Figure { name, value, range }
}

/// What a bottleneck's queue may drop of what is sent, in percent.
fn no_overflow(_: &Row) -> Option<(f64, f64)> {
    Some((0.0, 5.0))
}

/// Bulk goodput in percent of the limit.
const LIMITS: Table = Table {
    scenario: "limits",
    columns: &[column("goodput_percent", "bulk", "limit_percent")],
    figures: &[Figure {
        name: "goodput_percent",
        value: |row| row.values[0],
        range: |row| {
            let loses_more = ["fmtcp-3", "fmtcp-4", "pnc"].contains(&&*row.case);
            Some((if loses_more { 95.0 } else { 97.0 }, 100.5))
        },
    }],
};

/// Shares beside a TCP flow, 1 being fair, and that of a TCP flow in the connection's place.
const FAIRNESS: Table = Table {
    scenario: "fairness",
    columns: &[
        column("one_subflow", "one subflow", "share"),
        column("one_overflow_percent", "one subflow", "overflow_percent.A"),
        column("two_subflows", "two subflows", "share"),
        column("two_overflow_percent", "two subflows", "overflow_percent.A"),
        column("tcp_pair", "TCP pair", "traffic.reference.share"),
    ],
    figures: &[
        figure("one_subflow", |row| row.values[0], beside_an_even_pair),
        figure("one_overflow_percent", |row| row.values[1], no_overflow),
        figure("two_subflows", |row| row.values[2], beside_an_even_pair),
        figure("two_overflow_percent", |row| row.values[3], no_overflow),
    ],
};

/// A cell where even the reference flow shares unevenly with its own kind says nothing.
fn beside_an_even_pair(row: &Row) -> Option<(f64, f64)> {
    (0.8..=1.2).contains(&row.values[4]).then_some((0.6, 1.4))
}

/// Goodput of two connections in Mbit/s.
const SELF: Table = Table {
    scenario: "fairness-self",
    columns: &[
        column("later_mbps", "auto", "goodput_mbps"),
        column("earlier_mbps", "auto", "traffic.other.goodput_mbps"),
        column("overflow_percent", "auto", "overflow_percent.A"),
    ],
    figures: &[
        figure(
            "part_of_the_later",
            |row| 2.0 * row.values[0] / (row.values[0] + row.values[1]),
            |_| Some((0.85, 1.15)),
        ),
        figure("overflow_percent", |row| row.values[2], no_overflow),
    ],
};

/// Shares of a path that TCP uses as well, 1 being an equal part, and of one that is free.
const BALANCE: Table = Table {
    scenario: "fairness-balance",
    columns: &[
        column("busy", "auto", "share.busy"),
        column("free", "auto", "share.free"),
        column("busy_overflow_percent", "auto", "overflow_percent.busy"),
        column("free_overflow_percent", "auto", "overflow_percent.free"),
    ],
    figures: &[
        figure("busy", |row| row.values[0], |_| Some((0.0, 1.0))),
        figure("free", |row| row.values[1], |_| Some((0.97, 1.005))),
        figure("busy_overflow_percent", |row| row.values[2], no_overflow),
        figure("free_overflow_percent", |row| row.values[3], no_overflow),
    ],
};

/// How full a link is of what it lets through, headers included, and the goodput in percent.
const FILL: Table = Table {
    scenario: "fill",
    columns: &[
        column("share", "auto", "share"),
        column("goodput_percent", "auto", "limit_percent"),
        column("overflow_percent", "auto", "overflow_percent.A"),
    ],
    figures: &[
        Figure {
            name: "share",
            value: |row| row.values[0],
            // What is lost of a run's packets deviates from the mean: nothing is too much.
            range: |row| {
                let loses_much = row.case.contains("20 %") || row.case.contains("50 %");
                Some((if loses_much { 0.95 } else { 0.97 }, f64::INFINITY))
            },
        },
        figure("overflow_percent", |row| row.values[2], no_overflow),
    ],
};
