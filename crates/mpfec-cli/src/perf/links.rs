//! The emulated links that `--links` names.

use std::path::Path;

use mpfec_sim::toml::MOST_BYTES;
use mpfec_sim::{LinkConfig, PathSetup, Setup};

use crate::error::CliError;
use crate::exit::Exit;
use crate::input;
use crate::linked::ANSWER;
use crate::output::{Event, Output};
use crate::units;

/// What to measure over.
#[derive(Debug, Clone)]
pub(super) enum Links {
    /// Loopback itself, with this many paths.
    Direct {
        name: String,
        paths: usize,
    },
    Emulated(Setup),
}

impl Links {
    /// A built-in set-up, a file, or `none`.
    pub(super) fn find(name: &str) -> Result<Self, CliError> {
        if name == "none" {
            return Ok(Self::Direct {
                name: name.to_owned(),
                paths: 1,
            });
        }
        let setup = setup(name)?;
        check_reach(&setup)?;
        if emulates_nothing(&setup) {
            return Ok(Self::Direct {
                name: setup.name,
                paths: setup.paths.len(),
            });
        }
        Ok(Self::Emulated(setup))
    }
}

/// Whether a handshake may get through: otherwise it would only time out.
fn check_reach(setup: &Setup) -> Result<(), CliError> {
    let obstacle = |path: &PathSetup| {
        let forward = obstacle(&path.forward).map(|what| format!("{}, forward: {what}", path.name));
        let backward =
            || obstacle(&path.backward).map(|what| format!("{}, backward: {what}", path.name));
        forward.or_else(backward)
    };
    let obstacles: Option<Vec<String>> = setup.paths.iter().map(obstacle).collect();
    match obstacles {
        Some(obstacles) if setup.changes.is_empty() => Err(CliError::usage(
            format!(
                "no path of {} carries a connection: {}",
                setup.name,
                obstacles.join("; ")
            ),
            "see mpfec perf local --help for an example and what a file may say",
        )),
        _ => Ok(()),
    }
}

/// What keeps a handshake from crossing a link at all, if anything does.
fn obstacle(link: &LinkConfig) -> Option<String> {
    let needed = SMALLEST_DATAGRAM + link.overhead;
    let seconds = f64::from(needed) * 8.0 / link.rate.map_or(f64::INFINITY, |rate| rate as f64);
    if link.mtu < needed {
        Some(format!(
            "mtu is {}, and packets of {needed} bytes must pass",
            link.mtu
        ))
    } else if link.mean_loss() >= 1.0 {
        Some("every packet is lost".to_owned())
    } else if seconds + link.delay.as_secs_f64() > ANSWER.as_secs_f64() {
        let takes = seconds + link.delay.as_secs_f64();
        Some(format!(
            "a packet takes {takes:.0} s, and a handshake must be over within {} s",
            ANSWER.as_secs()
        ))
    } else {
        None
    }
}

/// A built-in set-up, or that of a file.
pub(crate) fn setup(name: &str) -> Result<Setup, CliError> {
    match Setup::named(name) {
        Some(setup) => Ok(setup),
        None => from_file(Path::new(name)),
    }
}

fn from_file(file: &Path) -> Result<Setup, CliError> {
    let text = input::read_text(file, MOST_BYTES).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CliError::usage(
            format!("there is no set-up and no file called {}", file.display()),
            "see mpfec perf local --links list",
        ),
        _ => CliError::source(file, &error),
    })?;
    Setup::from_toml_named(&text, &name_of(file)).map_err(|error| {
        CliError::new(
            Exit::Usage,
            format!("{} is no set-up: {error}", file.display()),
            "see mpfec perf local --help for an example and what a file may say",
        )
    })
}

/// What a set-up is called that does not say so itself: as its file, as far as that is a name.
fn name_of(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name: String = stem
        .chars()
        .map(|letter| if is_fit(letter) { letter } else { '-' })
        .take(LONGEST_NAME)
        .collect();
    if name.is_empty() {
        "file".to_owned()
    } else {
        name
    }
}

fn emulates_nothing(setup: &Setup) -> bool {
    let is_plain = |link: &LinkConfig| {
        *link
            == LinkConfig {
                mtu: link.mtu,
                ..LinkConfig::default()
            }
    };
    setup.changes.is_empty()
        && setup
            .paths
            .iter()
            .all(|path| is_plain(&path.forward) && is_plain(&path.backward))
}

/// Prints the built-in set-ups.
pub(crate) fn list(output: &Output) {
    for setup in Setup::built_in() {
        let limit_mbps = setup.limit_mbps();
        if output.is_json() {
            output.event(&Event::Links {
                name: setup.name,
                summary: setup.summary,
                limit_mbps: limit_mbps.map(units::rounded),
            });
        } else {
            let limit = limit_mbps.map(units::rate).unwrap_or_default();
            output.data(&format!("{:15} {limit:>12}  {}", setup.name, setup.summary));
        }
    }
    output.event(&Event::Complete {
        ok: true,
        from: None,
    });
}

/// Bytes of UDP payload that every path must carry (RFC 9000 §14).
const SMALLEST_DATAGRAM: u32 = 1200;
/// Letters of a set-up's name.
const LONGEST_NAME: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_s_name_is_made_to_fit() {
        let golden = [
            ("/tmp/kitchen.toml", "kitchen"),
            ("my links (2).toml", "my-links--2-"),
            ("..", "file"),
        ];
        for (file, name) in golden {
            assert_eq!(name_of(Path::new(file)), name);
        }
        assert_eq!(name_of(Path::new(&"x".repeat(99))).len(), LONGEST_NAME);
    }

    #[test]
    fn the_example_in_the_help_is_a_set_up() {
        let example = crate::args::LINKS_EXAMPLE;
        let setup = Setup::from_toml_named(example, "kitchen").unwrap();
        assert_eq!(
            (setup.paths.len(), setup.changes.len()),
            (2, 3),
            "the last one cuts and sets"
        );
    }

    #[test]
    fn what_emulates_nothing_needs_no_relay() {
        assert!(matches!(
            Links::find("none"),
            Ok(Links::Direct { paths: 1, .. })
        ));
        assert!(matches!(
            Links::find("loopback-clean"),
            Ok(Links::Direct { paths: 2, .. })
        ));
        assert!(matches!(Links::find("fmtcp-3"), Ok(Links::Emulated(_))));
    }

    #[test]
    fn links_that_no_handshake_can_cross_are_named_with_the_reason() {
        let golden = [
            (
                "mtu = 576",
                "a, forward: mtu is 576, and packets of 1228 bytes must pass",
            ),
            ("loss_percent = 100", "a, forward: every packet is lost"),
            (
                "rate_mbps = 0.000001",
                "a, forward: a packet takes 9824 s, and a handshake must be over within 20 s",
            ),
            (
                "delay_ms = 30000",
                "a, forward: a packet takes 30 s, and a handshake must be over within 20 s",
            ),
        ];
        let find = |text: String| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text).unwrap();
            Links::find(&file.path().to_string_lossy())
        };
        for (figure, what) in golden {
            let path = format!("name = \"x\"\n[[path]]\nname = \"a\"\nboth = {{ {figure} }}\n");
            let error = find(path.clone()).unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert_eq!(
                error.what,
                format!("no path of x carries a connection: {what}")
            );
            // Beside one that works, and where things change, it is nobody's mistake.
            let beside = "[[path]]\nname = \"b\"\nboth = { rate_mbps = 1 }\n";
            assert!(find(path.clone() + beside).is_ok());
            let change = "[[change]]\nat_s = 1\npath = \"a\"\nset = { mtu = 1500 }\n";
            assert!(find(path + change).is_ok());
        }
    }

    #[test]
    fn an_unknown_name_is_a_wrong_argument_and_so_is_a_file_that_is_no_set_up() {
        assert_eq!(Links::find("fmtcp-9").unwrap_err().exit, Exit::Usage);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "rate = 1").unwrap();
        let error = Links::find(&file.path().to_string_lossy()).unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        assert!(!error.what.contains('\n'));
    }
}
