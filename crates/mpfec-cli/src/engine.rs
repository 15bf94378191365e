//! From flags to the transport's settings.

use std::time::Duration;

use mpfec_core::{CodecKind, Profile, RedundancyKind, TransportConfig};

use crate::args::Expert;
use crate::choice::Redundancy;
use crate::error::CliError;
use crate::linked::ANSWER;

/// The profile with what was said about its parts.
pub(crate) fn profile(expert: &Expert) -> Profile {
    with_parts(expert.profile.unwrap_or_default(), expert)
}

/// Whether anything was said about parts of a profile.
pub(crate) fn has_parts(expert: &Expert) -> bool {
    expert.codec.is_some()
        || expert.scheduler.is_some()
        || expert.congestion.is_some()
        || expert.redundancy.is_some()
}

/// A profile with what was said about parts.
pub(crate) fn with_parts(mut profile: Profile, expert: &Expert) -> Profile {
    if let Some(scheduler) = expert.scheduler {
        profile.scheduler = scheduler;
    }
    if let Some(congestion) = expert.congestion {
        profile.congestion = congestion;
    }
    match expert.redundancy {
        Some(Redundancy::Policy(redundancy)) => profile.redundancy = redundancy,
        Some(Redundancy::None) => {
            profile.codec = CodecKind::Uncoded;
            profile.redundancy = RedundancyKind::OnLoss;
        }
        None => {}
    }
    if let Some(codec) = expert.codec {
        profile.codec = codec;
    }
    profile
}

/// Whether the parts that were asked for work together.
pub(crate) fn check(expert: &Expert) -> Result<(), CliError> {
    let code = expert.codec.filter(|codec| codec.has_repair());
    match (expert.redundancy, code) {
        (Some(none @ Redundancy::None), Some(codec)) => Err(CliError::usage(
            format!(
                "redundancy {none} is no repair symbols at all, and codec {codec} sends them for what got lost"
            ),
            "leave out --codec for lost symbols to be sent again, or take --redundancy on-loss for repair symbols in their place and none ahead of loss",
        )),
        _ => check_profile(&profile(expert)),
    }
}

/// Whether the parts of a profile work together.
pub(crate) fn check_profile(profile: &Profile) -> Result<(), CliError> {
    profile.check().map_err(|error| {
        CliError::usage(
            error.to_string(),
            "leave one of --profile, --codec, --scheduler, --congestion and --redundancy out, or choose another",
        )
    })
}

/// What is said about the transport.
fn transport(expert: &Expert) -> TransportConfig {
    let mut config = TransportConfig {
        profile: profile(expert),
        ..TransportConfig::default()
    };
    if let Some(symbols) = expert.block_symbols {
        config.max_block_symbols = symbols;
    }
    if let Some(bytes) = expert.recv_buffer {
        config.stream_window = bytes;
        config.connection_window = bytes;
    }
    config
}

/// Settings of a connection between people: a peer that dies is noticed within ten seconds.
pub(crate) fn remote_transport(expert: &Expert) -> TransportConfig {
    TransportConfig {
        idle_timeout: IDLE_TIMEOUT,
        keep_alive: KEEP_ALIVE,
        ..transport(expert)
    }
}

/// Settings of a connection between two ends of this process: outages of emulated links that
/// last for some time belong to what is measured.
pub(crate) fn local_transport(expert: &Expert) -> TransportConfig {
    TransportConfig {
        handshake_timeout: ANSWER,
        idle_timeout: LOCAL_PATIENCE,
        keep_alive: KEEP_ALIVE,
        ..transport(expert)
    }
}

/// After so long a silence of all links a connection of this process is given up.
pub(crate) const LOCAL_PATIENCE: Duration = Duration::from_secs(30);
/// After the last packet from the peer, the first question comes this late, and its answer
/// is waited for that long: then the connection is given up. Only links with round trips of
/// seconds get more time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
const IDLE_TIMEOUT: Duration = Duration::from_secs(8);
const KEEP_ALIVE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;

    use super::*;
    use crate::args::{self, Cli};
    use crate::exit::Exit;

    fn expert(flags: &str) -> Expert {
        let words = ["mpfec", "paths"]
            .into_iter()
            .chain(flags.split_whitespace());
        let matches = args::command().try_get_matches_from(words).unwrap();
        Cli::from_arg_matches(&matches).unwrap().global.expert
    }

    #[test]
    fn without_redundancy_no_code_may_send_repair_symbols() {
        for codec in CodecKind::ALL.iter().filter(|codec| codec.has_repair()) {
            let error = check(&expert(&format!("--codec {codec} --redundancy none"))).unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.what.contains(&codec.to_string()), "{error}");
            assert!(error.hint.contains("--redundancy on-loss"), "{error}");
        }
        for flags in [
            "--redundancy none",
            "--codec uncoded --redundancy none",
            "--profile fmtcp --redundancy none",
        ] {
            let expert = expert(flags);
            assert_eq!(check(&expert), Ok(()), "{flags}");
            assert_eq!(profile(&expert).codec, CodecKind::Uncoded, "{flags}");
        }
    }
}
