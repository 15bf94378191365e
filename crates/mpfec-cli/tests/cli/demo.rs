//! `mpfec demo`

use std::time::Duration;

use crate::support::Mpfec;

#[test]
fn a_file_crosses_three_links_one_of_which_is_cut_and_restored() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    let words = [
        "demo",
        "--size",
        "2MiB",
        "--json",
        "--keep",
        kept.to_str().unwrap(),
    ];
    let ended = Mpfec::start(words).end(Duration::from_secs(60));
    let done = ended.done();
    assert_eq!(done["bytes"], 2 << 20);
    let content = std::fs::read(kept).unwrap();
    assert_eq!(done["blake3"], blake3::hash(&content).to_hex().as_str());
    let used = done["paths"].as_array().unwrap().iter();
    let used = used.filter(|path| path["delivered_bytes"].as_u64() > Some(0));
    assert!(used.count() >= 3, "{done:#}");
    for progress in ended.lines().iter().filter(|one| one["type"] == "progress") {
        let paths = progress["paths"].as_array().unwrap().iter();
        let sum: f64 = paths.map(|path| path["rate_mbps"].as_f64().unwrap()).sum();
        let whole = progress["rate_mbps"].as_f64().unwrap();
        assert!((whole - sum).abs() < 0.001, "{sum} of {progress:#}");
    }
    let types: Vec<String> = ended
        .lines()
        .iter()
        .map(|line| line["type"].as_str().unwrap().to_owned())
        .collect();
    let position = |wanted: &str| types.iter().position(|one| one == wanted);
    assert!(position("link_cut").is_some(), "{types:?}");
    assert!(
        position("link_cut") < position("link_restored"),
        "{types:?}"
    );
    assert_eq!(
        types.iter().filter(|one| *one == "path_up").count(),
        3,
        "{types:?}"
    );
}
