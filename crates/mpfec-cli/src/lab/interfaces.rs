//! The interfaces of a namespace: devices, addresses and routes.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use nix::net::if_::if_nametoindex;
use rtnetlink::packet_route::route::RouteScope;
use rtnetlink::packet_route::rule::RuleAction;
use rtnetlink::{Handle, LinkUnspec, RouteMessageBuilder};

use super::plan::{PathPlan, Plan, Side};
use super::tun;
use crate::error::{CliError, plain};
use crate::exit::Exit;

/// Makes them in the namespace of this thread, whose runtime must be a thread of its own;
/// returns the other ends of the devices.
pub(super) async fn make(side: Side, plan: &Plan) -> Result<Vec<OwnedFd>, CliError> {
    quieten();
    let devices = plan.paths.iter().map(|path| device(&path.interface));
    let devices = devices.collect::<Result<Vec<_>, _>>()?;
    let failed = |error: String| {
        CliError::new(
            Exit::Other,
            format!("cannot set up the interfaces of the {side}: {error}"),
            "see whether ip addr, ip rule and ip route work here in a new network namespace",
        )
    };
    let (connection, netlink, _) =
        rtnetlink::new_connection().map_err(|error| failed(plain(&error)))?;
    let connection = tokio::spawn(connection);
    let made = configure(side, plan, &netlink).await;
    connection.abort();
    made.map_err(failed)?;
    Ok(devices)
}

fn device(name: &str) -> Result<OwnedFd, CliError> {
    let hint =
        "load it with modprobe tun, or give the container the device (--device /dev/net/tun)";
    tun::open(name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            CliError::new(Exit::Other, format!("there is no {}", tun::DEVICE), hint)
        }
        io::ErrorKind::PermissionDenied => CliError::new(
            Exit::Other,
            format!("may not make TUN devices: {}", plain(&error)),
            "run it as root; in a container, add --cap-add NET_ADMIN --device /dev/net/tun",
        ),
        _ => {
            let what = format!("cannot make the TUN device {name}: {}", plain(&error));
            CliError::new(Exit::Other, what, hint)
        }
    })
}

/// Nothing but what programs send is to cross the links, and what they send is to arrive.
fn quieten() {
    for (file, value) in [
        // The kernel looks for routers and neighbours on interfaces with IPv6.
        ("ipv6/conf/default/disable_ipv6", "1"),
        // A server's second address may be reached over the first path.
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/default/rp_filter", "0"),
    ] {
        if let Err(error) = std::fs::write(format!("/proc/sys/net/{file}"), value) {
            tracing::warn!(file, %error, "a setting of the namespace stays as it is");
        }
    }
}

async fn configure(side: Side, plan: &Plan, netlink: &Handle) -> Result<(), String> {
    let told = |error: rtnetlink::Error| error.to_string();
    let loopback = LinkUnspec::new_with_name("lo").up().build();
    netlink.link().set(loopback).execute().await.map_err(told)?;
    for path in &plan.paths {
        let index = if_nametoindex(path.interface.as_str()).map_err(|error| error.to_string())?;
        let address = path.address(side);
        let add = netlink.address().add(index, address.into(), NET_BITS);
        add.execute().await.map_err(told)?;
        let up = LinkUnspec::new_with_index(index)
            .mtu(path.mtu(side))
            .up()
            .build();
        netlink.link().set(up).execute().await.map_err(told)?;
        // The server answers over the path that the client's address belongs to.
        if side == Side::Client {
            route_by_source(path, index, netlink).await.map_err(told)?;
        }
    }
    Ok(())
}

/// Whatever is sent from an address of the client leaves over its path, wherever it goes.
async fn route_by_source(
    path: &PathPlan,
    index: u32,
    netlink: &Handle,
) -> Result<(), rtnetlink::Error> {
    let route = RouteMessageBuilder::<Ipv4Addr>::new()
        .output_interface(index)
        .table_id(path.table)
        .scope(RouteScope::Link)
        .build();
    netlink.route().add(route).execute().await?;
    let rule = netlink.rule().add().v4();
    rule.source_prefix(path.client, 32)
        .table_id(path.table)
        .action(RuleAction::ToTable)
        .execute()
        .await
}

/// Of a path's network.
const NET_BITS: u8 = 24;
