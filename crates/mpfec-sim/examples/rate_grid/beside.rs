//! A connection beside others: TCP, one of its own kind, and TCP on one of two paths.

use crate::text::{HEAD, MOST_OVERFLOW, VARIANT, link, named, overflow, sack, share};
use crate::{Cell, Options, Verdict};

/// One connection, with one and with two subflows, against one TCP flow.
pub(crate) fn fair(options: &Options) -> Vec<Cell> {
    let places: &[(f64, f64)] = if options.wide {
        &[
            (15.0, 30.0),
            (10.0, 150.0),
            (25.0, 50.0),
            (60.0, 80.0),
            (100.0, 20.0),
        ]
    } else {
        &[
            (10.0, 20.0),
            (10.0, 60.0),
            (10.0, 200.0),
            (40.0, 40.0),
            (40.0, 120.0),
        ]
    };
    let mut cells = Vec::new();
    for &(rate, rtt) in places {
        for queue in [0.25, 1.0, 4.0] {
            for rival in ["newreno", "cubic"] {
                let place = format!("{rate} Mbit/s {rtt} ms {queue} BDP {rival}");
                let sack = sack(rival);
                let first = options.seed % 2 == 1;
                let (start, rival_start) = if first { (0.0, 3.0) } else { (3.0, 0.0) };
                let length = 80.0;
                let measured = format!(
                    "start_s = {start}\nwarmup_s = {}\nduration_s = {length}\n",
                    20.0 - start
                );
                let core = link(rate, rtt, queue, "");
                let flow = |start: f64, name: &str| {
                    format!(
                        "[[traffic]]\nkind = \"{rival}\"\nname = \"{name}\"\nvia = [\"core\"]\n{sack}\
                         start_s = {start}\n"
                    )
                };
                let text = |paths: usize, flows: &str, application: &str| {
                    let mut text = format!(
                        "name = \"cell\"\n{HEAD}{measured}{application}\n[[link]]\nname = \"core\"\n{core}"
                    );
                    for path in ["A", "B"].iter().take(paths) {
                        text += &format!(
                            "[[path]]\nname = \"{path}\"\nboth = {{ rate_mbps = 1000, delay_ms = 0, queue_packets = 10000 }}\n\
                             via = [\"core\"]\n"
                        );
                    }
                    text + flows + VARIANT
                };
                for paths in [1, 2] {
                    cells.push(Cell {
                        grid: "fair",
                        name: format!("{paths} @ {place}"),
                        toml: text(paths, &flow(rival_start, "tcp"), ""),
                        judge: Box::new(move |result| {
                            let names = ["path.A.goodput_mbps", "path.B.goodput_mbps"];
                            let own: f64 = names
                                .iter()
                                .map(|name| share(result, name, rate, 2.0))
                                .sum();
                            let tcp = share(result, "traffic.tcp.goodput_mbps", rate, 2.0);
                            let overflow = overflow(result);
                            Verdict {
                                text: format!("{own:5.2} : {tcp:4.2}  dropped {overflow:4.1} %"),
                                missed: named(&[
                                    (own < 0.6, "weak"),
                                    (own > 1.4, "strong"),
                                    (overflow > MOST_OVERFLOW, "overflow"),
                                ]),
                                share: own,
                            }
                        }),
                    });
                }
                let flows = flow(0.0, "first") + &flow(3.0, "second");
                let idle =
                    "application = { kind = \"blocks\", block_bytes = 1000, rate_mbps = 0.001 }\n";
                cells.push(Cell {
                    grid: "fair",
                    name: format!("pair @ {place}"),
                    toml: text(1, &flows, idle),
                    judge: Box::new(move |result| {
                        let first = share(result, "traffic.first.goodput_mbps", rate, 2.0);
                        let second = share(result, "traffic.second.goodput_mbps", rate, 2.0);
                        Verdict {
                            text: format!("{first:5.2} : {second:4.2}"),
                            missed: Vec::new(),
                            share: first,
                        }
                    }),
                });
            }
        }
    }
    cells
}

/// A connection against another one that started ten seconds before.
pub(crate) fn with_itself(options: &Options) -> Vec<Cell> {
    let places: &[(f64, f64)] = if options.wide {
        &[(15.0, 30.0), (8.0, 150.0), (30.0, 80.0), (100.0, 40.0)]
    } else {
        &[(10.0, 20.0), (10.0, 100.0), (10.0, 200.0), (50.0, 50.0)]
    };
    let mut cells = Vec::new();
    for &(rate, rtt) in places {
        for queue in [0.25, 1.0, 4.0] {
            for loss in [0.0, 5.0] {
                let core = link(rate, rtt, queue, &format!(", loss_percent = {loss}"));
                let toml = format!(
                    "name = \"cell\"\n{HEAD}start_s = 10\nwarmup_s = 20\nduration_s = 60\n\
                     [[path]]\nname = \"A\"\n{core}\
                     [[traffic]]\nkind = \"connection\"\nname = \"other\"\npath = \"A\"\n{VARIANT}"
                );
                cells.push(Cell {
                    grid: "self",
                    name: format!("{rate} Mbit/s {rtt} ms {queue} BDP {loss} %"),
                    toml,
                    judge: Box::new(move |result| {
                        let limit = rate * (1.0 - loss / 100.0);
                        let own = share(result, "goodput_mbps", limit, 2.0);
                        let other = share(result, "traffic.other.goodput_mbps", limit, 2.0);
                        let part = 2.0 * own / (own + other);
                        let queue = result.metric("queue_ms.A").unwrap_or(0.0);
                        let overflow = overflow(result);
                        Verdict {
                            text: format!(
                                "{own:5.2} : {other:4.2}  queue {queue:5.1} ms  dropped {overflow:4.1} %"
                            ),
                            missed: named(&[
                                (!(0.85..=1.15).contains(&part), "uneven"),
                                (overflow > MOST_OVERFLOW, "overflow"),
                            ]),
                            share: part,
                        }
                    }),
                });
            }
        }
    }
    cells
}

/// Two paths: one busy with one or three TCP flows, the other free.
pub(crate) fn balance(options: &Options) -> Vec<Cell> {
    let (rate, rtts) = if options.wide {
        (20.0, [30.0, 80.0])
    } else {
        (10.0, [50.0, 100.0])
    };
    let mut cells = Vec::new();
    for rtt in rtts {
        for rival in ["newreno", "cubic"] {
            for flows in [1, 3] {
                for queue in [0.5, 1.0, 4.0] {
                    let core = link(rate, rtt, queue, "");
                    let sack = sack(rival);
                    let toml = format!(
                        "name = \"cell\"\n{HEAD}warmup_s = 20\nduration_s = 60\n\
                         [[path]]\nname = \"A\"\n{core}[[path]]\nname = \"B\"\n{core}\
                         [[traffic]]\nkind = \"{rival}\"\nname = \"tcp\"\npath = \"A\"\nstart_s = 2\n\
                         flows = {flows}\n{sack}{VARIANT}"
                    );
                    cells.push(Cell {
                        grid: "balance",
                        name: format!("{rate} Mbit/s {rtt} ms {queue} BDP {flows} {rival}"),
                        toml,
                        judge: Box::new(move |result| {
                            let busy = share(result, "path.A.goodput_mbps", rate, 1.0);
                            let free = share(result, "path.B.goodput_mbps", rate, 1.0);
                            Verdict {
                                text: format!("busy {busy:4.2}  free {free:4.2}"),
                                missed: named(&[
                                    (busy > 1.0 / f64::from(flows + 1), "busy"),
                                    (free < 0.97, "free"),
                                ]),
                                share: busy,
                            }
                        }),
                    });
                }
            }
        }
    }
    cells
}
