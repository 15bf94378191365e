//! `mpfec perf`

use std::ffi::OsStr;
use std::time::Duration;

use mpfec_sim::PathSetup;
use serde_json::Value;

use crate::support::{Ended, LONG, Mpfec, links, serve};

fn result(ended: &Ended) -> Value {
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (Some(0), ""),
        "{ended:#?}"
    );
    let result = ended.last();
    assert_eq!(result["type"], "result", "{ended:#?}");
    for number in [
        "seconds",
        "bytes",
        "goodput_mbps",
        "repair_ratio",
        "duplicate_bytes",
        "cpu_seconds",
        "peak_rss_bytes",
    ] {
        assert!(
            result[number].as_f64().is_some_and(|value| value >= 0.0),
            "{number}: {result:#}"
        );
    }
    for number in ["mean", "p50", "p99", "max", "jitter"] {
        let delay = &result["block_delay_ms"][number];
        assert!(
            delay.as_f64().is_some_and(|value| value >= 0.0),
            "{number}: {result:#}"
        );
    }
    assert!(result["profile"].is_string(), "{result:#}");
    assert!(
        ["same", "estimated"].contains(&result["clock"].as_str().unwrap()),
        "{result:#}"
    );
    for path in result["paths"].as_array().unwrap() {
        for field in [
            "id",
            "local",
            "remote",
            "interface",
            "srtt_ms",
            "min_rtt_ms",
            "sent_packets",
            "lost_packets",
            "delivered_bytes",
            "sent_bytes",
            "cwnd_bytes",
            "losses",
            "state",
        ] {
            assert!(!path[field].is_null(), "{field}: {path:#}");
        }
    }
    result
}

const ONCE: [&str; 6] = [
    "perf",
    "server",
    "--once",
    "--json",
    "--listen",
    "127.0.0.1:0",
];

/// Measures once towards a server of its own.
fn measure(flags: &[&str]) -> Value {
    let (server, ticket) = serve(&ONCE);
    let ticket = ticket.to_string();
    let words = ["perf", "client", "--json", &ticket];
    let ended = Mpfec::start(words.iter().chain(flags)).end(LONG);
    let result = result(&ended);
    let served = server.end(LONG);
    assert_eq!(
        (served.code, served.err.as_str()),
        (Some(0), ""),
        "{served:#?}"
    );
    assert_eq!(served.last()["type"], "done", "{served:#?}");
    assert_eq!(served.last()["ok"], true, "{served:#?}");
    result
}

#[test]
fn so_many_bytes_are_measured_in_either_direction() {
    for direction in [&[][..], &["--reverse"]] {
        let result = measure(&[&["--bytes", "3000000"][..], direction].concat());
        assert_eq!(result["bytes"], 3_000_000, "{result:#}");
        assert_eq!(result["reverse"], !direction.is_empty());
        assert_eq!(result["clock"], "estimated");
        let carried: u64 = result["paths"]
            .as_array()
            .unwrap()
            .iter()
            .map(|path| path["delivered_bytes"].as_u64().unwrap())
            .sum();
        assert!(carried >= 3_000_000, "{result:#}");
    }
}

#[test]
fn a_server_of_one_measurement_ends_no_other_that_is_under_way() {
    let (server, ticket) = serve(&ONCE);
    let ticket = ticket.to_string();
    let client = |seconds| {
        let words = ["perf", "client", "--json", "--rate", "3", "--warmup", "0"];
        Mpfec::start(words.iter().chain(&["--time", seconds, &ticket]))
    };
    let long = client("6");
    long.wait_for("progress", |line| line["bytes"].as_u64() > Some(0));
    result(&client("1").end(LONG));
    result(&long.end(LONG));
    let served = server.end(LONG);
    assert_eq!(served.code, Some(0), "{served:#?}");
    let done = served.lines().into_iter();
    let done = done.filter(|line| line["type"] == "done").count();
    assert_eq!(done, 2, "{served:#?}");
}

#[test]
fn progress_shows_what_a_slow_link_has_carried_and_not_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("slow.toml");
    let link = "[[path]]\nname = \"slow\"\nboth = { rate_mbps = 0.16, delay_ms = 10 }\n";
    std::fs::write(&file, link).unwrap();
    let words = ["perf", "local", "--json", "--bytes", "80000", "--links"].map(OsStr::new);
    let ended = Mpfec::start(words.into_iter().chain([file.as_os_str()])).end(LONG);
    assert_eq!(ended.last()["bytes"], 80_000, "{ended:#?}");
    let lines = ended.lines();
    let progress = lines.iter().filter(|line| line["type"] == "progress");
    for progress in progress {
        // The rate of the link, and a second for whatever the clocks do not agree on.
        let most = 20_000.0 * (progress["seconds"].as_f64().unwrap() + 1.0);
        let bytes = progress["bytes"].as_f64().unwrap();
        assert!(bytes <= most, "{bytes} of {most}: {progress:#}");
    }
}

#[test]
fn a_rate_is_kept_for_the_time_that_was_asked_for() {
    let result = measure(&[
        "--time",
        "2",
        "--warmup",
        "0.5",
        "--rate",
        "8",
        "--block-bytes",
        "1000",
    ]);
    let (seconds, rate) = (
        result["seconds"].as_f64().unwrap(),
        result["goodput_mbps"].as_f64().unwrap(),
    );
    assert!((1.9..2.5).contains(&seconds), "{result:#}");
    assert!((7.0..9.0).contains(&rate), "{result:#}");
}

/// A link of 20 kbit/s brings no block in four seconds, and one of 1 Mbit/s some.
#[test]
fn a_measurement_ends_in_time_however_slow_the_links_are() {
    for rate in [0.02, 1.0] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let slow =
            format!("[[path]]\nname = \"a\"\nboth = {{ rate_mbps = {rate}, delay_ms = 100 }}\n");
        std::fs::write(file.path(), slow).unwrap();
        let links = file.path().to_str().unwrap();
        let flags = ["--warmup", "1", "--time", "3", "--json", "--links", links];
        let words = ["perf", "local"];
        let ended = Mpfec::start(words.iter().chain(&flags)).end(LONG);
        if rate < 1.0 {
            ended.failed(5, &["nothing arrived in 3.0 s"]);
        } else {
            assert_eq!(ended.code, Some(0), "{ended:#?}");
            assert_eq!(ended.last()["seconds"], 3.0, "{ended:#?}");
        }
    }
}

#[test]
fn a_server_that_does_not_get_the_whole_handshake_is_not_measured() {
    let file = tempfile::NamedTempFile::new().unwrap();
    // The first packet arrives and is answered, and no other does.
    let links = "[[path]]\nname = \"a\"\nboth = { rate_mbps = 10, delay_ms = 300 }\n\
                 [[change]]\nat_s = 0.5\npath = \"a\"\ndirection = \"forward\"\ncut = true\n";
    std::fs::write(file.path(), links).unwrap();
    let links = file.path().to_str().unwrap();
    let words = ["perf", "local", "--time", "1", "--json", "--links", links];
    let ended = Mpfec::start(words).end(LONG);
    ended.failed(5, &["the rest of the handshake"]);
}

#[test]
fn a_measurement_in_which_nothing_arrives_has_failed() {
    let (server, ticket) = serve(&ONCE);
    let long = PathSetup::symmetric("long", 10_000_000, Duration::from_millis(1400), 0.0);
    let (_relay, ticket) = links(&ticket, &[long]);
    let ticket = ticket.to_string();
    // Half a second is over before the first byte can be here.
    let flags = ["--reverse", "--warmup", "0", "--time", "0.5", "--json"];
    let words = ["perf", "client", &ticket];
    let ended = Mpfec::start(words.iter().chain(&flags)).end(LONG);
    ended.failed(5, &["nothing arrived in 500 ms"]);
    assert!(!ended.out.contains("\"result\""), "{ended:#?}");
    server.end(LONG).failed(5, &["nothing arrived in 500 ms"]);
}

#[test]
fn links_that_die_in_the_warm_up_leave_nothing_to_measure() {
    let links = cut_after(1);
    let words = ["perf", "local", "--json", "--warmup", "2", "--time", "1"];
    let links = ["--reverse", "--links", links.path().to_str().unwrap()];
    let ended = Mpfec::start(words.iter().chain(&links)).end(LONG);
    ended.failed(5, &["nothing arrived in 1.0 s after a warm-up of 2.0 s"]);
}

#[test]
fn a_warm_up_in_which_everything_arrives_is_a_wrong_argument() {
    let words = ["perf", "local", "--json", "--links", "none"];
    let flags = ["--bytes", "1000", "--warmup", "5"];
    let ended = Mpfec::start(words.iter().chain(&flags)).end(LONG);
    ended.failed(2, &["nothing is left to measure", "1000 B"]);
}

#[test]
fn emulated_links_come_with_their_limit() {
    let words = [
        "perf", "local", "--links", "fmtcp-3", "--time", "2", "--warmup", "1", "--json",
    ];
    let result = result(&Mpfec::start(words).end(LONG));
    let limit = result["limit_mbps"].as_f64().unwrap();
    let rate = result["goodput_mbps"].as_f64().unwrap();
    assert!(rate > 0.0 && rate < 1.1 * limit, "{rate} of {limit}");
    assert_eq!(result["links"], "fmtcp-3");
    assert_eq!(result["clock"], "same");
    assert_eq!(result["paths"].as_array().unwrap().len(), 2);
}

#[test]
fn a_set_up_from_a_file_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("links.toml");
    let ended = Mpfec::start(["perf", "local", "--links", file.to_str().unwrap()]).end(LONG);
    ended.failed(2, &["links.toml"]);
    std::fs::write(
        &file,
        "[[path]]\nname = \"only\"\nboth = { rate_mbps = 20, delay_ms = 5 }\n",
    )
    .unwrap();
    let words = [
        "perf",
        "local",
        "--json",
        "--bytes",
        "100k",
        "--links",
        file.to_str().unwrap(),
    ];
    let result = result(&Mpfec::start(words).end(LONG));
    assert_eq!(result["paths"].as_array().unwrap().len(), 1);
    assert_eq!(result["links"], "links", "named as the file is");
}

/// Two links that are cut after so many seconds, and stay so.
fn cut_after(seconds: u32) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = |name| {
        format!(
            "[[path]]\nname = \"{name}\"\nboth = {{ rate_mbps = 10, delay_ms = 10 }}\n\
             [[change]]\nat_s = {seconds}\npath = \"{name}\"\ncut = true\n"
        )
    };
    std::fs::write(file.path(), path("wifi") + &path("lte")).unwrap();
    file
}

#[test]
fn links_that_do_not_answer_are_told_of_at_once_and_named_at_the_end() {
    let links = cut_after(0);
    let words = ["perf", "local", "--links", links.path().to_str().unwrap()];
    let waiting = Mpfec::start(words.iter().chain(&["--json"]));
    waiting.wait_for("word of the silence", |line| {
        line["type"] == "progress" && line["silent_seconds"].as_u64() >= Some(3)
    });
    drop(waiting);
    let ended = Mpfec::start(words).end(LONG);
    assert_eq!(ended.code, Some(5), "{ended:#?}");
    let lines: Vec<&str> = ended.err.lines().collect();
    assert_eq!(lines[0], "no answer over wifi, lte yet", "{ended:#?}");
    let [.., what, hint] = &lines[..] else {
        panic!("{ended:#?}")
    };
    assert_eq!(*what, "no answer over wifi, lte in 20 s", "{ended:#?}");
    assert!(!hint.contains("ticket"), "{ended:#?}");
}

#[test]
fn links_that_die_are_told_of_while_that_lasts() {
    let links = cut_after(2);
    let words = ["perf", "local", "--links", links.path().to_str().unwrap()];
    let measuring = Mpfec::start(words.iter().chain(&["--time", "60", "--json"]));
    measuring.wait_for("word of the silence", |line| {
        line["type"] == "progress"
            && line["silent_seconds"].as_u64() >= Some(3)
            && line["gives_up_in_seconds"].as_u64() > Some(20)
    });
}

#[test]
fn the_built_in_set_ups_are_listed() {
    let ended = Mpfec::start(["perf", "local", "--links", "list", "--json"]).end(LONG);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let mut lines = ended.lines();
    assert_eq!(lines.pop().unwrap()["type"], "done");
    let names: Vec<&str> = lines
        .iter()
        .map(|line| line["name"].as_str().unwrap())
        .collect();
    for name in ["fmtcp-1", "fmtcp-8", "dfec-l3-r100", "pnc", "demo"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

#[test]
fn a_sender_of_files_is_told_that_this_is_no_receiver() {
    let (server, ticket) = serve(&["perf", "server", "--json", "--listen", "127.0.0.1:0"]);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x"), "content").unwrap();
    let sender = crate::support::send(&ticket, &[dir.path().join("x").as_os_str()]);
    sender.end(LONG).failed(9, &["mpfec perf server"]);
    drop(server);
    let receiver = crate::support::Receiver::start(&[]);
    let client = Mpfec::start(["perf", "client", "--json", &receiver.ticket.to_string()]);
    client.end(LONG).failed(9, &["mpfec recv"]);
}
