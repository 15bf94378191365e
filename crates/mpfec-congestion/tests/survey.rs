mod support;
use mpfec_congestion::ControllerKind;
use std::time::Duration;
use support::Scene;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn survey() {
    let kind: ControllerKind = std::env::var("CC")
        .unwrap_or("delay".into())
        .parse()
        .unwrap();
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut scenes: Vec<(String, Scene)> = vec![];
    for (ow, loss) in [
        (100, 0.001),
        (100, 0.02),
        (100, 0.05),
        (100, 0.2),
        (100, 0.5),
        (200, 0.01),
        (300, 0.01),
        (500, 0.01),
    ] {
        scenes.push((
            format!("fmtcp {ow}ms {loss}"),
            Scene::new(kind, 10.0, ms(ow)).loss(loss),
        ));
    }
    for loss in [0.0, 0.01, 0.03, 0.05] {
        scenes.push((
            format!("dfec b1 {loss}"),
            Scene::new(kind, 20.0, Duration::from_micros(12500)).loss(loss),
        ));
    }
    for rtt in [25, 100, 400] {
        scenes.push((
            format!("dfec b2 {rtt}"),
            Scene::new(kind, 10.0, Duration::from_micros(rtt * 500)),
        ));
    }
    for (m, ow, l) in [(4.0, 220, 0.015), (10.0, 120, 0.05), (8.0, 70, 0.15)] {
        let mut s = Scene::new(kind, m, ms(ow)).loss(l).queue(50);
        s.burst_loss = 0.01;
        scenes.push((format!("pnc {m}"), s));
    }
    for (m, rtt_us, q) in [
        (5000.0, 100, 200),
        (5000.0, 100, 42),
        (5000.0, 100, 2000),
        (1000.0, 1000, 83),
    ] {
        for stalls in [false, true] {
            let mut s = Scene::new(kind, m, Duration::from_micros(rtt_us / 2)).queue(q);
            s.stalls = stalls;
            scenes.push((format!("lan {m} {rtt_us}us q{q} {stalls}"), s));
        }
    }
    for q in [5, 8, 20] {
        for l in [0.0, 0.05, 0.2] {
            scenes.push((
                format!("shallow {q} {l}"),
                Scene::new(kind, 10.0, ms(25)).loss(l).queue(q),
            ));
        }
    }
    for q in [5, 20, 42] {
        scenes.push((
            format!("shallow 100M q{q}"),
            Scene::new(kind, 100.0, ms(50)).queue(q),
        ));
    }
    let mut s = Scene::new(kind, 10.0, ms(50)).loss(0.02);
    s.changes = vec![(Duration::from_secs(8), 40.0, ms(50))];
    scenes.push(("change 10->40".into(), s));
    let mut s = Scene::new(kind, 40.0, ms(50)).loss(0.02);
    s.changes = vec![(Duration::from_secs(8), 10.0, ms(50))];
    scenes.push(("change 40->10".into(), s));
    let mut s = Scene::new(kind, 10.0, ms(10)).loss(0.02).queue(100);
    s.changes = vec![(Duration::from_secs(8), 10.0, ms(100))];
    scenes.push(("change 20->200ms".into(), s));
    let mut s = Scene::new(kind, 10.0, ms(100)).loss(0.02).queue(100);
    s.changes = vec![(Duration::from_secs(8), 10.0, ms(10))];
    scenes.push(("change 200->20ms".into(), s));
    let mut s = Scene::new(kind, 20.0, ms(10)).loss(0.0);
    s.dead = Some((Duration::from_secs(8), Duration::from_secs(13)));
    s.sibling = true;
    scenes.push(("death".into(), s));
    let mut s = Scene::new(kind, 20.0, ms(10)).loss(0.0);
    s.dead = Some((Duration::from_secs(8), Duration::from_secs(13)));
    scenes.push(("death alone".into(), s));
    let mut s = Scene::new(kind, 20.0, ms(10)).loss(0.02);
    s.stalls = true;
    scenes.push(("20M stalls".into(), s));
    let mut s = Scene::new(kind, 100.0, ms(10)).loss(0.02);
    s.stalls = true;
    scenes.push(("100M stalls".into(), s));
    let mut s = Scene::new(kind, 10.0, ms(50)).loss(0.02);
    s.ack_loss = 0.2;
    scenes.push(("ack loss".into(), s));
    for (name, s) in scenes {
        if !name.contains(&only) {
            continue;
        }
        let lan = name.starts_with("lan");
        let rtt = 2.0 * s.one_way.as_secs_f64();
        let r = s.clone().seed(3).run(if lan {
            ms(1500)
        } else {
            Duration::from_secs(30)
        });
        let (a, b) = if lan { (0.3, 1.4) } else { (5.0, 29.0) };
        println!(
            "{name:24} util {:.3} min-seed.. start90 {:6.3}s ({:4.1} RTT) qmean {:6.1}ms qmax {:6.1} (start {:6.1}) overflow {:.4} (start {:.4}) | 5-8 {:.2} 8.. {:.2} {:.2} {:.2} {:.2} | 13.. {:.2} {:.2} {:.2}",
            r.utilisation(a, b),
            r.reaches(0.9, 0.0, 0.2),
            r.reaches(0.9, 0.0, 0.2) / rtt,
            r.mean_queue(a, b) * 1e3,
            r.longest_queue(a, b) * 1e3,
            r.longest_queue(0.0, a) * 1e3,
            r.overflow(a, b),
            r.overflow(0.0, a),
            r.utilisation(5.0, 8.0),
            r.utilisation(8.0, 8.5),
            r.utilisation(8.5, 9.0),
            r.utilisation(9.0, 10.0),
            r.utilisation(10.0, 12.0),
            r.utilisation(13.0, 13.2),
            r.utilisation(13.2, 13.5),
            r.utilisation(13.5, 14.0)
        );
    }
}
