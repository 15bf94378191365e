use crate::scenario::{Check, Plotted, Scenario, ScenarioError};

/// A scenario that is right, with `extra` at its end.
fn with(extra: &str) -> Result<Scenario, ScenarioError> {
    Scenario::from_toml(&format!("{BASE}{extra}"), "a.toml")
}

const BASE: &str = r#"name = "two"
duration_s = 5

[[link]]
name = "core"
both = { rate_mbps = 8, delay_ms = 25, queue_packets = 50 }

[[path]]
name = "A"
both = { rate_mbps = 10, delay_ms = 10 }
via = ["core"]

[[path]]
name = "B"
both = { rate_mbps = 5, delay_ms = 20 }

[[variant]]
profile = "fmtcp"

[[variant]]
profile = "mptcp"
"#;

const CASES: &str = r#"
[[case]]
name = "1 %"
x = 1
set = { "path.B.forward.loss_percent" = 1 }

[[case]]
name = "2 %"
x = 2
set = { "path.B.forward.loss_percent" = 2, "recv_buffer_kib" = 64 }

[[case]]
name = "5 %"
x = 5
set = { "path.B.forward.loss_percent" = 5 }
"#;

#[test]
fn a_case_changes_what_it_says_and_a_variant_changes_that() {
    let scenario = with(&format!(
        "set = {{ \"path.B.forward.loss_percent\" = 9 }}\n{CASES}"
    ))
    .expect("valid");
    let loss = |case, variant| {
        let plan = scenario.plan(case, variant).expect("a plan");
        (plan.setup.paths[1].forward.loss * 100.0).round()
    };
    assert_eq!([loss(0, 0), loss(1, 0), loss(2, 0)], [1.0, 2.0, 5.0]);
    assert_eq!([loss(0, 1), loss(2, 1)], [9.0, 9.0]);
    let buffer = |case| scenario.plan(case, 0).expect("a plan").recv_buffer;
    assert_eq!([buffer(0), buffer(1)], [None, Some(64 << 10)]);
    assert_eq!(scenario.cases[1].x, Some(2.0));
}

#[test]
fn without_cases_there_is_one() {
    let scenario = with("").expect("valid");
    assert_eq!(scenario.cases.len(), 1);
    assert_eq!(scenario.cases[0].name, "all");
    assert_eq!(scenario.plan(0, 1).expect("a plan").via, [vec![0], vec![]]);
}

#[test]
fn ranges_of_cases_are_those_between_two_names() {
    let claim = r#"
[[claim]]
text = "it holds"
check = [
    { bound = "goodput_mbps", of = "fmtcp", at_least = 1, cases = ["1 %..2 %"] },
    { ratio = "path.A.goodput_mbps", of = "fmtcp", to_metric = "path.B.goodput_mbps", at_most = 3, cases = ["5 %", "1 %"] },
]
"#;
    let scenario = with(&format!("{CASES}{claim}")).expect("valid");
    let [
        Check::Bound { cases: first, .. },
        Check::Ratio { cases, of, to, .. },
    ] = &scenario.claims[0].checks[..]
    else {
        panic!("two checks")
    };
    assert_eq!((first, cases), (&vec![0, 1], &vec![2, 0]));
    assert_eq!((&of.variant, &to.variant), (&to.variant, &of.variant));
}

#[test]
fn a_series_is_drawn_in_the_case_that_is_named() {
    let chart = "[[chart]]\nseries = \"cwnd.A\"\ncase = \"2 %\"\n";
    let scenario = with(&format!("{CASES}{chart}")).expect("valid");
    let name = "cwnd.A".to_owned();
    assert_eq!(
        scenario.charts[0].plotted,
        Plotted::Series { name, case: 1 }
    );
    assert_eq!(scenario.charts[0].title, "cwnd.A");
}

#[test]
fn a_profile_from_elsewhere_runs_in_the_conditions_of_each_case() {
    let mut scenario = with(CASES).expect("valid");
    scenario.add_profile("auto", mpfec_core::Profile::AUTO);
    scenario
        .retain_variants(|variant| variant.name != "fmtcp")
        .expect("two stay");
    let names: Vec<&str> = scenario.variants.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["mptcp", "auto"]);
    assert_eq!(
        scenario.plan(1, 1).expect("a plan").recv_buffer,
        Some(64 << 10)
    );
    assert_eq!(scenario.plan(1, 2), None);
    assert!(scenario.retain_variants(|_| false).is_err());
}

/// What is wrong with a file that has `extra` after its first 22 lines.
#[test]
fn mistakes_are_named_with_file_line_place_and_what_would_be_right() {
    let table = [
        // Keys and types, by serde.
        (
            "fast = true",
            "a.toml, line 23: unknown field `fast`, expected one of `name`, `profile`, ",
        ),
        (
            "[application]\nkind = \"tape\"",
            "a.toml, line 24: unknown variant `tape`, expected one of `bulk`, `blocks`, `video`, `web`",
        ),
        ("[[case]]\nx = 5", "a.toml, line 23: missing field `name`"),
        (
            "[[case]]\nname = \"a\"\nx = \"b\"",
            "a.toml, line 25: invalid type: string \"b\", expected f64",
        ),
        // Variants.
        (
            "[[variant]]\nprofile = \"fmtpc\"",
            "a.toml, line 24: variant 3: there is no profile \"fmtpc\"; there are fmtcp, ",
        ),
        (
            "[[variant]]\nname = \"x\"\nprofile = \"auto\"\nscheduler = \"best\"",
            "a.toml, line 26: variant 3: ",
        ),
        (
            "[[variant]]\nprofile = \"mptcp\"",
            "a.toml, line 23: variant 3: two variants are called \"mptcp\"",
        ),
        (
            "[[variant]]\nname = \"x\"\nprofile = \"auto\"\npaths = [\"C\"]",
            "a.toml, line 26: variant 3: there is no path \"C\"; there are A, B",
        ),
        (
            "[[variant]]\nprofile = \"auto\"\npaths = []",
            "a.toml, line 25: variant 3: a run uses at least one path",
        ),
        // Applications.
        (
            "[application]\nkind = \"bulk\"\nfps = 3",
            "a.toml, line 25: a bulk application has no fps; its keys are bytes",
        ),
        (
            "[application]\nkind = \"video\"\nrate_mbps = 3.4",
            "a.toml, line 23: application: deadline_ms is missing: when a frame comes too late",
        ),
        (
            "[application]\nkind = \"web\"\nobjects = 3",
            "a.toml, line 23: application: a web application has either object_bytes or page_bytes",
        ),
        (
            "[application]\nkind = \"blocks\"\nblock_bytes = 0.5",
            "a.toml, line 25: application: block_bytes is 0.5, which is not from 1 to 1000000000",
        ),
        (
            "[application]\nkind = \"blocks\"\nblock_bytes = 1\nrate_mbps = 100",
            "a.toml, line 23: a run has at most 10000000 blocks or frames, and this one may have 62500000",
        ),
        (
            "[application]\nkind = \"blocks\"\nblock_bytes = 1\n[[change]]\nat_s = 1\npath = \"B\"\nset = { rate_mbps = 90 }",
            "a.toml, line 23: a run has at most 10000000 blocks or frames, and this one may have 62500000",
        ),
        // Paths, links and changes.
        (
            "[[path]]\nname = \"C\"\nboth = { rate_mbps = 1, delay_ms = -1 }",
            "a.toml, line 25: path C, forward: delay_ms is -1, which is not from 0 to 8640000000",
        ),
        (
            "[[path]]\nname = \"C\"",
            "a.toml, line 23: path C, forward: rate_mbps is missing: it is from 0.000001 to 10000",
        ),
        (
            "[[path]]\nname = \"C\"\n[path.both]\ndelay_ms = 5\nrate_mbps = 20000\n[path.backward]\nloss_percent = 1",
            "a.toml, line 27: path C, forward: rate_mbps is 20000, which is not from 0.000001 to 10000",
        ),
        (
            "[[path]]\nname = \"C\"\n[path.both]\nrate_mbps = 2\n[path.backward]\nloss_percent = 101",
            "a.toml, line 28: path C, backward: loss_percent is 101, which is not from 0 to 100",
        ),
        (
            "[[link]]\nname = \"edge\"\nboth = { rate_mbps = 1, gilbert = { enter = 0.1, leave = nan } }",
            "a.toml, line 25: link edge, forward: share of leaving the bad state is NaN, which is not from 0 to 1",
        ),
        (
            "[[link]]\nname = \"edge\"\nboth = { rate_mbps = 1, overhead = 4000000000 }",
            "a.toml, line 25: link edge, forward: overhead, bytes is 4000000000, which is not from 0 to 256",
        ),
        (
            "[[path]]\nname = \"C\"\nboth = { rate_mbps = 1 }\nvia = [\"cores\"]",
            "a.toml, line 26: there is no link \"cores\"; there are core",
        ),
        (
            "[[link]]\nname = \"core\"\nboth = { rate_mbps = 1 }",
            "a.toml, line 24: two links are called \"core\"",
        ),
        (
            "[[change]]\nat_s = 3\npath = \"A\"",
            "a.toml, line 23: change 1: it neither cuts nor sets anything",
        ),
        (
            "[[change]]\nat_s = 3\ncut = true",
            "a.toml, line 23: change 1: a change has either a path or a link",
        ),
        (
            "[[change]]\nat_s = 3\nlink = \"x\"\ncut = true",
            "a.toml, line 25: change 1: there is no link \"x\"; there are core",
        ),
        (
            "[[change]]\nat_s = -1\npath = \"A\"\ncut = true",
            "a.toml, line 24: change 1: at_s is -1, which is not from 0 to 100000",
        ),
        (
            "[[change]]\nat_s = 1\npath = \"A\"\nset = { rate_mbps = inf }",
            "a.toml, line 26: change 1: set: rate_mbps is inf, which is not from 0.000001 to 10000",
        ),
        (
            "[[change]]\nat_s = 1\npath = \"A\"\n[change.set]\nloss_percent = 1\nrate_mbps = 20000",
            "a.toml, line 28: change 1: set: rate_mbps is 20000, which is not from 0.000001 to 10000",
        ),
        (
            "[[change]]\nat_s = 1\nlink = \"core\"\nset = { gilbert = { enter = 5, leave = 0.1 } }",
            "a.toml, line 26: change 1: set: share of entering the bad state is 5, which is not from 0 to 1",
        ),
        (
            "[[change]]\nat_s = 1\npath = \"A\"\nset = { mtu = 0 }",
            "a.toml, line 26: change 1: set: mtu, bytes is 0, which is not from 29 to 65563",
        ),
        // Traffic.
        (
            "[[traffic]]\nkind = \"udp\"\nname = \"u\"\npath = \"A\"",
            "a.toml, line 23: traffic 1: rate_mbps is missing: the rate on the link while it sends",
        ),
        (
            "[[traffic]]\nkind = \"udp\"\nname = \"u\"\nrate_mbps = 1",
            "a.toml, line 23: traffic 1: traffic has either a path or via",
        ),
        (
            "[[traffic]]\nkind = \"udp\"\nname = \"u\"\npath = \"A\"\nrate_mbps = 1\non_s = 2",
            "a.toml, line 28: traffic 1: udp traffic has no on_s; its keys are packet_bytes, packet_mix, rate_mbps",
        ),
        (
            "[[traffic]]\nkind = \"aimd\"\nname = \"u\"\npath = \"A\"\ndecrease = 1",
            "a.toml, line 27: traffic 1: decrease is 1, which is not from 0.01 to 0.99",
        ),
        (
            "[[traffic]]\nkind = \"newreno\"\nname = \"u\"\npath = \"A\"\nstart_s = 4\nstop_s = 3",
            "a.toml, line 28: traffic 1: it stops at 3 s, and starts at 4 s",
        ),
        (
            "[[traffic]]\nkind = \"newreno\"\nname = \"u\"\npath = \"A\"\npacket_mix = [[40, -1]]",
            "a.toml, line 27: traffic 1: the shares in packet_mix are 0 or more, and not all 0",
        ),
        (
            "[[traffic]]\nkind = \"newreno\"\nname = \"u\"\npath = \"A\"\nflows = 1.5",
            "a.toml, line 27: traffic 1: flows is 1.5, which is not a whole number from 1 to 64",
        ),
        (
            "[[traffic]]\nkind = \"connection\"\nname = \"u\"\nvia = [\"core\"]",
            "a.toml, line 23: traffic 1: a connection goes forward over a path, without a delay of its own",
        ),
        (
            "[[path]]\nname = \"C\"\nboth = { rate_mbps = 1 }\nlent = { rate_mbps = 1, traffic = [\"u\", \"u\"] }\n[[traffic]]\nkind = \"udp\"\nname = \"u\"\npath = \"A\"\nrate_mbps = 1",
            "a.toml, line 26: path C, lent: traffic \"u\" is named twice",
        ),
        // Cases.
        (
            "[[case]]\nname = \"a\"\n[[case]]\nname = \"a\"",
            "a.toml, line 26: case 2: two cases are called \"a\"",
        ),
        (
            "[[case]]\nname = \"a\"\nset = { \"path.B.forward.loss_percent\" = 500 }",
            "a.toml, line 25: case \"a\", set \"path.B.forward.loss_percent\": path B, forward: loss_percent is 500, which is not from 0 to 100",
        ),
        (
            "[[case]]\nname = \"a\"\nset = { \"path.C.forward.loss_percent\" = 5 }",
            "a.toml, line 25: case \"a\": there is no table called \"C\"; there are A, B",
        ),
        (
            "[[case]]\nname = \"a\"\nset = { \"duration_s\" = 9, \"path.B.forward.los\" = 5 }",
            "a.toml, line 25: case \"a\", set \"path.B.forward.los\": unknown field `los`",
        ),
        (
            "[[case]]\nname = \"a\"\nset = { \"variant.1.profile\" = \"mptcp\" }",
            "a.toml, line 25: case \"a\": there is no settable key \"variant.1.profile\"; there are application, ",
        ),
        (
            "[[case]]\nname = \"a\"\nset = { \"path.B.name\" = \"C\" }",
            "a.toml, line 25: case \"a\": the names of paths do not change",
        ),
        (
            "[[case]]\nname = \"a\"\n[[variant]]\nname = \"v\"\nprofile = \"auto\"\nset = { \"recv_buffer_kib\" = 1 }",
            "a.toml, line 28: case \"a\", variant \"v\", set \"recv_buffer_kib\": recv_buffer_kib is 1, which is not from 16 to 4194304",
        ),
        // Charts.
        (
            "[[chart]]\ntitle = \"x\"",
            "a.toml, line 23: chart 1: a chart has either a metric or a series",
        ),
        (
            "[[chart]]\nmetric = \"goodput\"",
            "a.toml, line 24: chart 1: there is no metric \"goodput\"; there are goodput_mbps, ",
        ),
        (
            "[[chart]]\nmetric = \"goodput_mbps\"\ncase = \"all\"",
            "a.toml, line 25: chart 1: a metric is drawn over all cases; case is for a series",
        ),
        (
            "[[chart]]\nseries = \"cwnd.C\"",
            "a.toml, line 24: chart 1: there is no time series \"cwnd.C\"; there are cwnd.A, cwnd.B, ",
        ),
        (
            "[[chart]]\nmetric = \"goodput_mbps\"\nvariants = [\"auto\"]",
            "a.toml, line 25: chart 1: there is no variant \"auto\"; there are fmtcp, mptcp",
        ),
        // Claims.
        (
            "[[claim]]\ntext = \"t\"\ncheck = { bound = \"goodput_mbps\", of = \"fmtcp\" }",
            "a.toml, line 25: claim 1: it needs one of at_least and at_most",
        ),
        (
            "[[claim]]\ntext = \"t\"\ncheck = []",
            "a.toml, line 23: claim 1: there are 0 checks, and 1 to 64 are allowed",
        ),
        (
            "[[claim]]\ntext = \"t\"\ncheck = { of = \"fmtcp\" }",
            "a.toml, line 25: claim 1: a check has one of ratio, fall, bound and order",
        ),
        (
            "[[claim]]\ntext = \"t\"\ncheck = [{ ratio = \"goodput_mbps\", of = \"fmtcp\", to = \"tcp\", at_least = 1 }]",
            "a.toml, line 25: claim 1, check 1: there is no variant \"tcp\"; there are fmtcp, mptcp",
        ),
        (
            "[[claim]]\ntext = \"t\"\ncheck = { ratio = \"goodput_mbps\", of = \"fmtcp\", at_least = 1 }",
            "a.toml, line 25: claim 1: a figure is compared with itself: give to, to_case or to_metric",
        ),
        (
            "[[claim]]\ntext = \"t\"\ncheck = { fall = \"goodput_mbps\", of = \"fmtcp\", below_percent = 25, cases = [\"2..1\"] }",
            "a.toml, line 25: claim 1: there is no case \"2\"; there are all",
        ),
        (
            "[[claim]]\ntext = \"t\"\ncheck = { fall = \"goodput_mbps\", of = \"fmtcp\", at_most = 25 }",
            "a.toml, line 25: claim 1: a fall has no at_most; its keys are of, at_least_percent, below_percent, cases",
        ),
        (
            "[[claim]]\ntext = \"t\"\ncheck = { bound = \"goodput_mbps\", of = \"fmtcp\", at_least = 2, at_most = 1 }",
            "a.toml, line 25: claim 1: 2 is above 1: no value lies between at_least and at_most",
        ),
        (
            "[[claim]]\ntext = \"t\"\ncheck = { bound = \"goodput_mbps@9-3\", of = \"fmtcp\", at_least = 2 }",
            "a.toml, line 25: claim 1: \"goodput_mbps@9-3\" asks for the time from 9 s to 3 s",
        ),
        (
            "[[claim]]\ntext = \"t\"\ncheck = { order = \"goodput_mbps\", variants = [\"fmtcp\"] }",
            "a.toml, line 25: claim 1: there are 1 variants in the order, and 2 to 32 are allowed",
        ),
    ];
    let mut wrong = Vec::new();
    for (extra, message) in table {
        let error = with(&format!("\n{extra}")).expect_err(extra).to_string();
        if !error.starts_with(message) {
            wrong.push(format!("{extra}\n  is:     {error}\n  should: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mistakes_at_the_top_of_a_file_are_named_too() {
    let tail = BASE.split_once("duration_s = 5").expect("in it").1;
    let table = [
        ("", "a.toml: name is missing: what the scenario is called"),
        (
            "name = \"a b\"",
            "a.toml, line 1: \"a b\" is no name: 1 to 64 ASCII letters, digits, '-', '_' or '.'",
        ),
        (
            "name = \"a\"\nduration_s = 0",
            "a.toml, line 2: duration_s is 0, which is not from 0.1 to 100000",
        ),
        (
            "name = \"a\"\nsample_s = 0.01\nduration_s = 10000",
            "a.toml, line 2: a time series has at most 100000 steps of sample_s",
        ),
        (
            "name = \"a\"\npauses = { every_s = 0, most_ms = 80 }",
            "a.toml, line 2: every_s is 0, which is not from 0.1 to 100000",
        ),
        (
            "name = \"a\"\nduration_s = 100_000\npauses = { every_s = 0.5, most_ms = 80 }",
            "a.toml, line 3: a host stands still at most 100000 times in a run, and in this one 200000 times",
        ),
        (
            "name = \"a\"\nblock_symbols = 2000",
            "a.toml, line 2: block_symbols is 2000, which is not from 1 to 1024",
        ),
        (
            "name = \"a\"\nwarmup_s = 1\napplication = { kind = \"bulk\", bytes = 5 }",
            "a.toml, line 2: an application with an end is measured from its start: no warmup_s",
        ),
        ("name = ", "a.toml, line 1: "),
        (
            "name = \"a\"\nname = \"b\"",
            "a.toml, line 2: duplicate key",
        ),
    ];
    for (head, message) in table {
        let text = format!("{head}{tail}");
        let error = Scenario::from_toml(&text, "a.toml")
            .expect_err(head)
            .to_string();
        assert!(error.starts_with(message), "{head}\n{error}\n{message}");
    }
    let none = Scenario::from_toml("name = \"a\"", "a.toml").expect_err("no paths");
    assert_eq!(none.to_string(), "a.toml: a setup has 1 to 8 paths, not 0");
    let no_variant = BASE.replace("[[variant]]\nprofile = \"fmtcp\"\n", "");
    let no_variant = no_variant.replace("[[variant]]\nprofile = \"mptcp\"\n", "");
    let none = Scenario::from_toml(&no_variant, "a.toml").expect_err("no variants");
    assert_eq!(
        none.to_string(),
        "a.toml: there are 0 variants, and 1 to 32 are allowed"
    );
    let long = "#".repeat(super::MOST_BYTES + 1);
    let long = Scenario::from_toml(&long, "a.toml").expect_err("too long");
    assert_eq!(
        long.to_string(),
        "a.toml: a scenario file has at most 1048576 bytes, not 1048577"
    );
}

#[test]
fn the_example_of_the_description_can_be_read() {
    let description = include_str!("../format.rs");
    let (_, example) = description.split_once("//! ```toml\n").expect("an example");
    let (example, _) = example.split_once("//! ```\n").expect("its end");
    let lines = example.lines().map(|line| {
        let line = line.strip_prefix("//!").expect("a line of the description");
        line.strip_prefix(' ').unwrap_or(line)
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let scenario = Scenario::from_toml(&text, "format.rs").expect("valid");
    assert_eq!((scenario.cases.len(), scenario.variants.len()), (2, 3));
}

#[test]
fn a_scenario_has_no_more_cells_than_fit() {
    let mut text = BASE.to_owned();
    for case in 0..600 {
        text += &format!("[[case]]\nname = \"{case}\"\n");
    }
    let error = Scenario::from_toml(&text, "a.toml").expect_err("too many");
    assert_eq!(
        error.to_string(),
        "a.toml: there are 1200 cases times variants, and 1 to 1000 are allowed"
    );
}

fn with_variant(variant: &str) -> Result<Scenario, ScenarioError> {
    let text = format!(
        "name = \"a\"\n[[path]]\nname = \"A\"\nboth = {{ rate_mbps = 10 }}\n[[variant]]\n{variant}"
    );
    Scenario::from_toml(&text, "a.toml")
}

#[test]
fn a_variant_changes_the_redundancy_of_its_profile() {
    let scenario = with_variant("profile = \"fmtcp\"\nredundancy = \"fixed:percent=9\"")
        .expect("a redundancy");
    assert_eq!(
        scenario.variants[0].profile.redundancy.to_string(),
        "fixed:percent=9"
    );
}

#[test]
fn parts_that_do_not_work_together_are_refused_with_the_reason() {
    let error = with_variant("profile = \"mptcp\"\nredundancy = \"fixed:percent=9\"")
        .expect_err("repair symbols without a code");
    let message = error.to_string();
    assert!(
        message.starts_with("a.toml, line 5: variant 1: impossible profile")
            && message.contains("uncoded"),
        "{message}"
    );
}
