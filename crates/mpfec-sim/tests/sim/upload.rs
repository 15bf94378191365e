//! A download beside somebody's upload over the same access: the queue of the upload holds up the
//! acknowledgements of the download.

use mpfec_sim::scenario::Scenario;

const ACCESS: &str = r#"
[[path]]
name = "A"
both = { delay_ms = 20 }
forward = { rate_mbps = 20, queue_bdp = 1, queue_packets_least = 20 }
backward = { rate_mbps = 2, queue_packets = 100 }
"#;

const BULK: &str = r#"{ kind = "bulk" }"#;
const BLOCKS: &str = r#"{ kind = "blocks", best_path_load_percent = 70 }"#;

/// Between these seconds somebody uploads; `None` is the end.
type Upload = (u32, Option<u32>);

/// A metric of `auto`'s, with each of the seeds from 1 to 4.
fn values(application: &str, paths: &str, uploads: &[Upload], metric: &str) -> Vec<f64> {
    let uploads: String = uploads
        .iter()
        .map(|(start, stop)| {
            let stop = stop.map_or(String::new(), |stop| format!("stop_s = {stop}\n"));
            format!(
                "[[traffic]]\nkind = \"cubic\"\nname = \"upload{start}\"\npath = \"A\"\n\
                 direction = \"backward\"\nstart_s = {start}\n{stop}"
            )
        })
        .collect();
    let text = format!(
        "name = \"upload\"\nwarmup_s = 5\nduration_s = 20\napplication = {application}\n\
         {paths}{uploads}[[variant]]\nprofile = \"auto\"\n"
    );
    let scenario = Scenario::from_toml(&text, "test").unwrap_or_else(|error| panic!("{error}"));
    let run = |seed| {
        let result = scenario.run(0, 0, seed);
        assert_eq!(result.failure, None, "seed {seed}");
        result.metric(metric).expect("it is measured")
    };
    (1..=4).map(run).collect()
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

#[test]
fn a_download_is_full_beside_an_upload() {
    for loss in [0, 2] {
        let lossy = format!("queue_packets_least = 20, loss_percent = {loss}");
        let paths = ACCESS.replace("queue_packets_least = 20", &lossy);
        let shares = values(BULK, &paths, &[(2, None)], "limit_percent");
        assert!(least(&shares) >= 90.0, "{loss} %: {shares:.1?}");
    }
}

#[test]
fn blocks_come_in_time_beside_an_upload() {
    let calm = values(BLOCKS, ACCESS, &[], "block_delay_ms.p99");
    let delays = values(BLOCKS, ACCESS, &[(2, None)], "block_delay_ms.p99");
    assert!(
        most(&delays) <= most(&calm) + 10.0,
        "{delays:.1?} ms, {calm:.1?} without"
    );
}

#[test]
fn uploads_that_come_and_go_take_little_of_a_download() {
    let uploads = [(6, Some(9)), (11, Some(12)), (15, Some(19)), (21, Some(24))];
    let shares = values(BULK, ACCESS, &uploads, "limit_percent");
    assert!(least(&shares) >= 80.0, "{shares:.1?}");
}

/// An overflow of a queue of eight packets is answered just before the upload begins, or while it does.
#[test]
fn a_download_through_a_short_queue_goes_on_beside_an_upload() {
    let short = ACCESS
        .replace("delay_ms = 20", "delay_ms = 10")
        .replace(
            "queue_bdp = 1, queue_packets_least = 20",
            "queue_bdp = 0.25",
        )
        .replace("queue_packets = 100", "queue_packets = 20");
    let shares = values(BULK, &short, &[(3, None)], "limit_percent");
    assert!(least(&shares) >= 75.0, "{shares:.1?}");
}

/// The shortest round trip that it has seen until then has the queue of the upload in it.
#[test]
fn a_download_that_began_during_an_upload_is_full_after_it() {
    let shares = values(BULK, ACCESS, &[(0, Some(8))], "limit_percent");
    assert!(least(&shares) >= 88.0, "{shares:.1?}");
    let srtt = values(BULK, ACCESS, &[(0, Some(8))], "srtt_ms.A@20-25");
    assert!(most(&srtt) <= 65.0, "{srtt:.1?} ms");
}

#[test]
fn an_upload_over_one_of_two_accesses_leaves_both_full() {
    let other = "[[path]]\nname = \"B\"\nboth = { rate_mbps = 15, delay_ms = 30 }\n";
    let paths = format!("{ACCESS}{other}");
    let shares = values(BULK, &paths, &[(2, None)], "limit_percent");
    assert!(least(&shares) >= 93.0, "{shares:.1?}");
}
