//! Sizes, rates and times as people write and read them.

use std::time::Duration;

/// Text that is no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a size is a number and a unit, such as 64MiB, 1.5G or 32768")]
pub(crate) struct SizeError;

/// Text that is no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a time is a number of seconds, or with a unit: 10, 2.5, 500ms, 3m, 1h")]
pub(crate) struct TimeError;

/// Text that is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a rate is a number of Mbit/s above 0")]
pub(crate) struct RateError;

/// `64MiB`, `64M` and `64m` are 2^26 bytes, `64MB` are 64 million.
pub(crate) fn parse_size(text: &str) -> Result<u64, SizeError> {
    let text = text.trim();
    let digits = text
        .find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| SizeError)?;
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return Err(SizeError),
    };
    let bytes = number * factor;
    if bytes.is_finite() && bytes < 9e18 {
        Ok(bytes.round() as u64)
    } else {
        Err(SizeError)
    }
}

/// Seconds unless a unit says otherwise.
pub(crate) fn parse_time(text: &str) -> Result<Duration, TimeError> {
    let text = text.trim();
    let digits = text
        .find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| TimeError)?;
    let factor = match unit.trim() {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(TimeError),
    };
    Duration::try_from_secs_f64(number * factor)
        .ok()
        .filter(|time| *time <= LONGEST)
        .ok_or(TimeError)
}

/// Mbit/s, as bytes per second.
pub(crate) fn parse_rate(text: &str) -> Result<f64, RateError> {
    let mbit: f64 = text.trim().parse().map_err(|_| RateError)?;
    if mbit > 0.0 && mbit < 1e9 {
        Ok(mbit * 125_000.0)
    } else {
        Err(RateError)
    }
}

/// `3.6 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" {
                format!("{bytes} B")
            } else {
                format!("{value:.1} {unit}")
            };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// `18.4 Mbit/s`.
pub(crate) fn rate(mbps: f64) -> String {
    match mbps {
        mbps if mbps >= 1000.0 => format!("{:.2} Gbit/s", mbps / 1000.0),
        mbps if mbps >= 100.0 => format!("{mbps:.0} Mbit/s"),
        mbps if mbps >= 0.1 || mbps <= 0.0 => format!("{mbps:.1} Mbit/s"),
        mbps => format!("{:.1} kbit/s", mbps * 1000.0),
    }
}

/// `0:58`, `1:02:03`, `4.2 s` below ten seconds.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!(
            "{}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        ),
    }
}

/// What is left of a time: `0:09`, `12:03`, `1:00:00`.
pub(crate) fn countdown(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 3600 {
        format!("{}:{:02}", seconds / 60, seconds % 60)
    } else {
        self::time(time)
    }
}

/// Bytes in a time as Mbit/s; 0 if no time passed.
pub(crate) fn mbps(bytes: u64, time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 {
        bytes as f64 * 8e-6 / seconds
    } else {
        0.0
    }
}

/// Milliseconds with their fractions.
pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Rounded to three decimals, so that JSON stays readable.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// No run is longer.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_binary_and_decimal_units() {
        let golden = [
            ("64MiB", 64 << 20),
            ("1.5k", 1536),
            ("2GB", 2_000_000_000),
            ("32768", 32_768),
            ("0", 0),
        ];
        for (text, bytes) in golden {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "1 parsec", "-1", "1e3", "99999999999T", "1.2.3"] {
            assert_eq!(parse_size(text), Err(SizeError), "{text}");
        }
    }

    #[test]
    fn times_are_seconds_unless_a_unit_says_otherwise() {
        assert_eq!(parse_time("2.5"), Ok(Duration::from_millis(2500)));
        assert_eq!(parse_time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("2h"), Ok(Duration::from_secs(7200)));
        for text in ["", "s", "-1", "9999999999999d", "1y"] {
            assert_eq!(parse_time(text), Err(TimeError), "{text}");
        }
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(size(1000), "1000 B");
        assert_eq!(size(64 << 20), "64.0 MiB");
        assert_eq!(rate(18.44), "18.4 Mbit/s");
        assert_eq!(rate(4321.0), "4.32 Gbit/s");
        assert_eq!(rate(0.0), "0.0 Mbit/s");
        assert_eq!(rate(0.0012), "1.2 kbit/s");
        assert_eq!(time(Duration::from_secs(3723)), "1:02:03");
        assert_eq!(time(Duration::from_millis(4200)), "4.2 s");
        assert_eq!(time(Duration::from_micros(12_700)), "12 ms");
        assert_eq!(countdown(Duration::from_millis(9900)), "0:09");
        assert_eq!(countdown(Duration::from_secs(3600)), "1:00:00");
        assert_eq!(mbps(1_250_000, Duration::from_secs(1)), 10.0);
    }
}
