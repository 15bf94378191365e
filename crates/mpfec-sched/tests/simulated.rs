//! Schedulers over a small simulated network.

mod scene;

use mpfec_sched::SchedulerKind;
use scene::network::{Line, Load, Network};
use std::time::Duration;

#[test]
fn explore() {
    let uneven = [
        Line {
            mbit: 10.0,
            one_way_ms: 10,
            loss: 0.05,
        },
        Line {
            mbit: 10.0,
            one_way_ms: 100,
            loss: 0.05,
        },
    ];
    let f3 = [
        Line {
            mbit: 10.0,
            one_way_ms: 100,
            loss: 0.001,
        },
        Line {
            mbit: 10.0,
            one_way_ms: 100,
            loss: 0.2,
        },
    ];
    let f8 = [
        Line {
            mbit: 10.0,
            one_way_ms: 100,
            loss: 0.001,
        },
        Line {
            mbit: 10.0,
            one_way_ms: 500,
            loss: 0.01,
        },
    ];
    let d5 = [
        Line {
            mbit: 20.0,
            one_way_ms: 12,
            loss: 0.05,
        },
        Line {
            mbit: 10.0,
            one_way_ms: 50,
            loss: 0.0005,
        },
    ];
    for (name, lines) in [("uneven", &uneven), ("f3", &f3), ("f8", &f8), ("d5", &d5)] {
        for kind in SchedulerKind::ALL {
            let symbols = 20_000;
            let report = Network::new(kind, lines, Load::Bulk { symbols }, 7).run();
            let cap: f64 = lines
                .iter()
                .map(|l| l.mbit * 1e6 / 8.0 / 1428.0 * (1.0 - l.loss))
                .sum();
            println!(
                "{name} bulk {kind:17} finished {:.2} ideal {:.2} busy {:.3} {:.3} p50 {:?} p99 {:?} rep {:.3} useless {} last {:?}",
                report.finished.as_secs_f64(),
                symbols as f64 / cap + 0.001 * lines[0].one_way_ms as f64,
                report.busy(0, lines, report.finished),
                report.busy(1, lines, report.finished),
                report.percentile(0.5),
                report.percentile(0.99),
                report.repair_share(),
                report.useless,
                report.last_sent
            );
            let every = Duration::from_secs_f64(24.0 / (0.7 * cap));
            let report = Network::new(
                kind,
                lines,
                Load::Messages {
                    symbols: 24,
                    every,
                    until: Duration::from_secs(20),
                },
                7,
            )
            .run();
            println!(
                "{name} 70%  {kind:17} p50 {:?} p99 {:?} rep {:.3} useless {} sent {:?}",
                report.percentile(0.5),
                report.percentile(0.99),
                report.repair_share(),
                report.useless,
                report.sent
            );
            let every = Duration::from_millis(200);
            let report = Network::new(
                kind,
                lines,
                Load::Messages {
                    symbols: 24,
                    every,
                    until: Duration::from_secs(20),
                },
                7,
            )
            .run();
            println!(
                "{name} msg  {kind:17} p50 {:?} p99 {:?} rep {:.3} useless {} sent {:?}",
                report.percentile(0.5),
                report.percentile(0.99),
                report.repair_share(),
                report.useless,
                report.sent
            );
        }
    }
}
