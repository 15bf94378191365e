//! What is taken, what is refused, and what the help says.

use clap::{CommandFactory, FromArgMatches};

use super::*;

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
    command().debug_assert();
}

#[test]
fn expert_flags_are_in_the_long_help_of_the_commands_they_apply_to() {
    let help = |words: &[&str], flag: &str| {
        let words = words.iter().chain([&flag]);
        let error = command().try_get_matches_from(words).unwrap_err();
        assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp);
        error.to_string()
    };
    let commands: [&[&str]; 7] = [
        &["mpfec"],
        &["mpfec", "demo"],
        &["mpfec", "send"],
        &["mpfec", "recv"],
        &["mpfec", "perf", "client"],
        &["mpfec", "perf", "local"],
        &["mpfec", "sim", "run"],
    ];
    for words in commands {
        let (short, long) = (help(words, "-h"), help(words, "--help"));
        assert!(!short.contains("scheduler"), "{short}");
        assert!(
            long.contains("scheduler") && long.contains("Exit codes"),
            "{long}"
        );
        let is_seeded = !["send", "recv", "client"].contains(words.last().unwrap());
        assert_eq!(long.contains("--seed"), is_seeded, "{words:?}");
    }
    let without: [&[&str]; 5] = [
        &["mpfec", "lab"],
        &["mpfec", "paths"],
        &["mpfec", "completions"],
        &["mpfec", "man"],
        &["mpfec", "sim", "list"],
    ];
    for words in without {
        assert!(!help(words, "--help").contains("scheduler"), "{words:?}");
    }
    let run = help(&["mpfec", "sim", "run"], "--help");
    assert!(!run.contains("--recv-buffer"), "{run}");
    assert_eq!(run.matches("--profile").count(), 1, "{run}");
    let local = help(&["mpfec", "perf", "local"], "--help");
    assert!(
        local.contains("[[path]]") && local.contains("gilbert"),
        "{local}"
    );
}

#[test]
fn a_buffer_out_of_range_is_refused_with_the_range() {
    for size in ["10", "5GiB"] {
        let words = ["mpfec", "recv", "--recv-buffer", size];
        let error = Cli::try_parse_from(words).unwrap_err().to_string();
        assert!(error.contains("16 KiB to 4 GiB"), "{error}");
    }
    assert!(Cli::try_parse_from(["mpfec", "recv", "--recv-buffer", "16k"]).is_ok());
}

#[test]
fn expert_flags_are_taken_behind_any_command() {
    let cli = Cli::try_parse_from([
        "mpfec",
        "demo",
        "--profile",
        "mptcp",
        "--json",
        "--seed",
        "7",
    ])
    .unwrap();
    assert_eq!(cli.global.expert.profile, Some(Profile::MPTCP));
    assert!(cli.global.json);
    assert_eq!(cli.global.expert.seed, Some(7));
}

#[test]
fn several_profiles_are_for_scenarios_only() {
    let words = ["mpfec", "sim", "run", "all", "--profile", "mptcp"];
    let run = |words: &[&str]| {
        let matches = command().try_get_matches_from(words).unwrap();
        match Cli::from_arg_matches(&matches).unwrap().command {
            Command::Sim(SimCommand::Run(args)) => args.profile,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(run(&words[..4]), []);
    assert_eq!(run(&words), [Profile::MPTCP]);
    let two = [words.as_slice(), &["--profile", "auto"]].concat();
    assert_eq!(run(&two), [Profile::MPTCP, Profile::AUTO]);
    let elsewhere = ["mpfec", "demo", "--profile", "mptcp", "--profile", "auto"];
    assert!(command().try_get_matches_from(elsewhere).is_err());
}

#[test]
fn what_runs_in_a_lab_keeps_its_own_flags() {
    let words = ["mpfec", "lab", "--links", "pnc", "--server", "nc -l 9"];
    let lab = |words: &[&str]| match Cli::try_parse_from(words).unwrap().command {
        Command::Lab(args) => args,
        other => panic!("{other:?}"),
    };
    let alone = lab(&words);
    assert!(alone.command.is_empty());
    let with = lab(&[words.as_slice(), &["--", "ping", "--json", "-c", "3"]].concat());
    assert_eq!(with.links, "pnc");
    assert_eq!(with.server.as_deref(), Some("nc -l 9"));
    assert_eq!(with.command, ["ping", "--json", "-c", "3"]);
    assert!(Cli::try_parse_from(["mpfec", "lab", "--", "ping"]).is_err());
    assert!(Cli::try_parse_from(["mpfec", "lab", "--links", "pnc", "ping"]).is_err());
}

#[test]
fn time_and_bytes_exclude_each_other() {
    let both = ["mpfec", "perf", "local", "--time", "5", "--bytes", "1M"];
    assert!(Cli::try_parse_from(both).is_err());
    assert!(Cli::try_parse_from(["mpfec", "perf", "local", "--block-bytes", "15"]).is_err());
}

#[test]
fn nothing_is_not_measured() {
    for (flag, none, some) in [("--bytes", "0", "1"), ("--time", "0", "1ms")] {
        let with = |value| Cli::try_parse_from(["mpfec", "perf", "local", flag, value]);
        let error = with(none).unwrap_err().to_string();
        assert!(error.contains("nothing"), "{error}");
        assert!(with(some).is_ok(), "{flag}");
    }
}

#[test]
fn what_the_help_calls_a_default_is_one() {
    let transport = mpfec_core::TransportConfig::default();
    let help = command().render_long_help().to_string();
    let symbols = format!("1 to 1024 [default: {}]", transport.max_block_symbols);
    let buffer = format!("[default: {}MiB]", transport.connection_window >> 20);
    let words: Vec<&str> = help.split_whitespace().collect();
    let help = words.join(" ");
    for told in [symbols, buffer] {
        assert!(help.contains(&told), "{told}: {help}");
    }
}

#[test]
fn flags_that_scenarios_do_not_take_are_in_no_help_of_theirs() {
    let mut command = command();
    let sim = command.find_subcommand_mut("sim").unwrap();
    let help = sim.render_long_help().to_string();
    assert!(!help.contains("--recv-buffer"), "{help}");
}
