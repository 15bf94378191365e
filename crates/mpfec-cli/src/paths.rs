//! `mpfec paths`: which interfaces would be used, and why the others are not.

use serde::Serialize;

use mpfec_core::net::{Interface, interfaces};

use crate::context::Context;
use crate::error::CliError;
use crate::output::{Event, Output};

/// An interface in JSON.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InterfaceReport {
    name: String,
    kind: String,
    addresses: Vec<String>,
    mtu: Option<u32>,
    gateway: bool,
    used: bool,
    /// Why it is not used.
    reason: Option<String>,
}

impl From<&Interface> for InterfaceReport {
    fn from(interface: &Interface) -> Self {
        Self {
            name: interface.name.clone(),
            kind: interface.kind.to_string(),
            addresses: interface
                .addresses
                .iter()
                .map(ToString::to_string)
                .collect(),
            mtu: interface.mtu,
            gateway: interface.has_gateway,
            used: interface.is_usable(),
            reason: interface.why_not.map(|why| why.to_string()),
        }
    }
}

/// Prints a table, or an object for each interface.
pub(crate) async fn run(context: Context) -> Result<(), CliError> {
    let found = tokio::task::spawn_blocking(interfaces)
        .await
        .map_err(|error| CliError::other("cannot list the interfaces", error))?;
    let reports: Vec<InterfaceReport> = found.iter().map(InterfaceReport::from).collect();
    print(&context.output, reports);
    Ok(())
}

fn print(output: &Output, reports: Vec<InterfaceReport>) {
    if output.is_json() {
        for report in reports {
            output.event(&Event::Interface(report));
        }
        output.event(&Event::Complete {
            ok: true,
            from: None,
        });
        return;
    }
    for line in table(&reports) {
        output.data(&line);
    }
}

fn table(reports: &[InterfaceReport]) -> Vec<String> {
    let width = reports
        .iter()
        .map(|report| report.name.len())
        .max()
        .unwrap_or_default();
    reports
        .iter()
        .map(|report| {
            let use_or_not = match &report.reason {
                None => "used".to_owned(),
                Some(reason) => format!("not used: {reason}"),
            };
            let mtu = report
                .mtu
                .map(|mtu| format!("MTU {mtu}"))
                .unwrap_or_default();
            let addresses = report.addresses.join(", ");
            format!(
                "{:width$}  {:9}  {mtu:9}  {use_or_not}  {addresses}",
                report.name, report.kind
            )
            .trim_end()
            .to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_why_an_interface_is_not_used() {
        let report = |name: &str, reason: Option<&str>| InterfaceReport {
            name: name.to_owned(),
            kind: "Ethernet".to_owned(),
            addresses: vec!["10.0.0.1".to_owned()],
            mtu: Some(1500),
            gateway: true,
            used: reason.is_none(),
            reason: reason.map(str::to_owned),
        };
        let lines = table(&[
            report("eth0", None),
            report("docker0", Some("leads to containers")),
        ]);
        assert!(lines[0].starts_with("eth0     Ethernet") && lines[0].contains("used  10.0.0.1"));
        assert!(lines[1].contains("not used: leads to containers"));
    }
}
