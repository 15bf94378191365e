//! The scenarios of the papers.

use super::Scenario;

/// Every built-in scenario, in the order of a listing.
pub(super) fn all() -> Vec<Scenario> {
    FILES
        .iter()
        .map(|(file, text)| match Scenario::from_toml(text, file) {
            Ok(scenario) => scenario,
            Err(error) => panic!("a built-in scenario cannot be read: {error}"),
        })
        .collect()
}

macro_rules! files {
    ($($file:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("../../scenarios/", $file)))),*]
    };
}

/// Name and text of every file, in the order of a listing.
const FILES: &[(&str, &str)] = files![
    "fmtcp-table1.toml",
    "fmtcp-table2.toml",
    "fmtcp-fig07.toml",
    "fmtcp-fig08.toml",
    "fmtcp-fig11.toml",
    "fmtcp-fig13.toml",
    "fmtcp-fig14.toml",
    "dfec-fig04.toml",
    "dfec-fig06.toml",
    "dfec-fig08.toml",
    "dfec-fig11.toml",
    "dfec-fig12.toml",
    "dfec-fig13.toml",
    "dfec-fig14.toml",
    "dfec-fig15.toml",
    "dfec-fig16.toml",
    "dfec-fig18.toml",
    "pnc-fig06.toml",
    "pnc-fig08.toml",
    "couple-plus-fig09.toml",
    "couple-plus-fig12.toml",
    "couple-plus-fig14.toml",
    "sharing-fig71.toml",
    "sharing-fig73.toml",
    "shared-bottleneck.toml",
    "limits.toml",
    "grid.toml",
    "grid-delay.toml",
    "fairness.toml",
    "fairness-self.toml",
    "fairness-balance.toml",
    "fairness-busy.toml",
    "fairness-crowd.toml",
    "fairness-crowd-busy.toml",
    "fill.toml",
    "jitter.toml",
    "upload.toml",
    "upload-short.toml",
    "weak-link.toml",
    "blocks-busy.toml",
    "aggregates.toml",
    "policed.toml",
    "policed-shared.toml",
    "wifi-lte.toml",
    "satellite.toml",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn every_file_can_be_read_and_is_called_as_its_scenario() {
        let mut names = Vec::new();
        for (file, text) in FILES {
            let scenario =
                Scenario::from_toml(text, file).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(format!("{}.toml", scenario.name), *file);
            assert!(!names.contains(&scenario.name), "{file} is listed twice");
            names.push(scenario.name);
        }
    }

    #[test]
    fn every_file_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
        for entry in std::fs::read_dir(folder).expect("the folder of scenarios") {
            let name = entry.expect("an entry").file_name();
            let is_listed = FILES.iter().any(|(file, _)| name.to_str() == Some(*file));
            assert!(is_listed, "{name:?} is not in the list");
        }
    }

    /// The text with a line left out, or a figure replaced by a strange one, some times over.
    fn spoilt(text: &str, rng: &mut Rng) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for _ in 0..=rng.up_to(3) {
            let at = rng.up_to(lines.len() as u64 - 1) as usize;
            let is_digit = |letter: char| letter.is_ascii_digit() || letter == '.';
            match lines[at].find(is_digit) {
                Some(start) if rng.chance(0.8) => {
                    let rest = &lines[at][start..];
                    let end = start + rest.find(|c| !is_digit(c)).unwrap_or(rest.len());
                    let strange = STRANGE[rng.up_to(STRANGE.len() as u64 - 1) as usize];
                    lines[at].replace_range(start..end, strange);
                }
                _ => drop(lines.remove(at)),
            }
        }
        lines.join("\n")
    }

    const STRANGE: &[&str] = &[
        "0",
        "-1",
        "0.5",
        "1e-9",
        "1e300",
        "nan",
        "inf",
        "9223372036854775807",
        "\"\"",
        "[]",
    ];

    #[test]
    fn a_spoilt_file_is_an_error_or_another_scenario() {
        let mut rng = Rng::new(1);
        let (mut read, mut refused) = (0, 0);
        for (file, text) in FILES {
            for _ in 0..20 {
                match Scenario::from_toml(&spoilt(text, &mut rng), file) {
                    Ok(_) => read += 1,
                    Err(error) => {
                        assert!(error.to_string().starts_with(file), "{error}");
                        refused += 1;
                    }
                }
            }
        }
        assert!(read > 50 && refused > 50, "{read} {refused}");
    }
}
