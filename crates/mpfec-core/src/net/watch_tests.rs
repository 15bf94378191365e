//! Interfaces that come and go.

use super::*;
use crate::net::InterfaceKind;
#[cfg(target_os = "linux")]
use crate::net::test_link::TestLink;

fn interface(index: u32, addresses: &[&str]) -> Interface {
    Interface {
        name: format!("eth{index}"),
        friendly_name: None,
        index,
        kind: InterfaceKind::Ethernet,
        addresses: addresses
            .iter()
            .map(|address| address.parse().unwrap())
            .collect(),
        mtu: Some(1500),
        has_gateway: true,
        why_not: None,
    }
}

#[test]
fn differences_are_told_in_order_and_lead_from_one_state_to_the_other() {
    let before = [
        interface(1, &["10.0.0.1"]),
        interface(2, &["10.0.1.1"]),
        interface(3, &["10.0.2.1"]),
    ];
    let after = [
        interface(1, &["10.0.0.1"]),
        interface(3, &["10.0.2.9"]),
        interface(4, &["10.0.3.1"]),
    ];
    let changes = difference(&before, &after);
    assert_eq!(
        changes,
        [
            InterfaceChange::Vanished(before[1].clone()),
            InterfaceChange::Changed {
                before: before[2].clone(),
                after: after[1].clone()
            },
            InterfaceChange::Appeared(after[2].clone()),
        ]
    );
    let mut known = before.to_vec();
    changes.iter().for_each(|change| apply(&mut known, change));
    assert_eq!(known, after);
    assert_eq!(difference(&after, &after), []);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_link_that_comes_and_goes_is_noticed_within_two_seconds() {
    let Some(link) = TestLink::new('w') else {
        return;
    };
    let mut watch = InterfaceWatch::new();
    link.up();
    let appeared = next_of(&mut watch, &link.name).await;
    let InterfaceChange::Appeared(interface) = &appeared else {
        panic!("{appeared:?}")
    };
    let towards_peer = interface.address_towards(link.neighbour(0).ip());
    assert_eq!(towards_peer, Some(link.own(0).ip()));

    link.down();
    let vanished = next_of(&mut watch, &link.name).await;
    assert!(
        matches!(vanished, InterfaceChange::Vanished(_)),
        "{vanished:?}"
    );
    assert!(
        watch
            .current()
            .iter()
            .all(|interface| interface.name != link.name)
    );
}

/// The next change of the interface that is not just one more address.
#[cfg(target_os = "linux")]
async fn next_of(watch: &mut InterfaceWatch, name: &str) -> InterfaceChange {
    let next = async {
        loop {
            match watch.next().await {
                change @ (InterfaceChange::Appeared(_) | InterfaceChange::Vanished(_))
                    if is_about(&change, name) =>
                {
                    return change;
                }
                _ => {}
            }
        }
    };
    timeout(Duration::from_secs(2), next)
        .await
        .expect("the change is noticed")
}

#[cfg(target_os = "linux")]
fn is_about(change: &InterfaceChange, name: &str) -> bool {
    let (InterfaceChange::Appeared(interface)
    | InterfaceChange::Vanished(interface)
    | InterfaceChange::Changed {
        after: interface, ..
    }) = change;
    interface.name == name
}
