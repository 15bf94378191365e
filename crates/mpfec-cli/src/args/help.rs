//! Texts of the help that are longer than a line.

/// Help of a flag whose value is one of a list.
pub(super) fn help_of(what: &str, known: impl IntoIterator<Item = String>) -> String {
    let known: Vec<String> = known.into_iter().collect();
    format!("{what}: {}", known.join(", "))
}

pub(super) fn links_help() -> String {
    format!(
        "A file with links, of which everything but the path and its name may be left out:\n\n{LINKS_EXAMPLE}\n{LINKS_KEYS}"
    )
}

pub(super) fn lab_help() -> String {
    format!("{LAB_HELP}\n\n{}", links_help())
}

pub(super) fn scenario_help() -> String {
    format!(
        "A scenario file:\n\n{SCENARIO_EXAMPLE}\n{SCENARIO_KEYS}\n\nOf a link: {}",
        LINKS_KEYS.trim_start_matches("Of a link, each way: ")
    )
}

pub(super) const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 other; 2 usage; 3 source missing or unreadable; 4 destination (exists, full, \
permission); 5 network, run the same command again; 6 authentication; 7 integrity; 9 refused or \
another version; 130 interrupted.";

const LAB_HELP: &str = "\
Path number 1 leads from 10.77.1.1, the client, to 10.77.1.2, the server, path 2 from 10.77.2.1 \
to 10.77.2.2, and so on. The client's address decides which links a packet crosses, both ways: a \
program chooses a path by binding to that address, and may then reach any of the server's. Each \
interface is called as its path. COMMAND finds this in MPFEC_LAB (the name of the set-up), \
MPFEC_CLIENTS, MPFEC_SERVERS and MPFEC_INTERFACES (one word for each path), and MPFEC_CLIENT and \
MPFEC_SERVER (those of the first path). A further address at the client, such as 10.77.1.3/24 on \
the interface of path 1, lies on the same path: what leaves from it shares the links, so that a \
connection over both addresses has two paths through one bottleneck. For example:

  mpfec lab --links fmtcp-3 -- ping -c 5 10.77.2.2
  mpfec lab --links dfec-l3-r25 --server 'iperf3 -s' -- sh -c 'iperf3 -c $MPFEC_SERVER'
  mpfec lab --links pnc --server 'mpfec perf server --ticket-file t' -- mpfec perf client --ticket-file t
  mpfec lab --links FILE --server 'mpfec perf server --ticket-file t' -- \\
    sh -c 'ip addr add 10.77.1.3/24 dev wifi; mpfec perf client --ticket-file t'";

pub(crate) const LINKS_EXAMPLE: &str = r#"  name = "kitchen"             # or else as the file is called
  [[path]]                     # 1 to 8
  name = "wifi"
  both = { rate_mbps = 20, delay_ms = 12.5 }
  forward = { loss_percent = 3 }           # client to server, on top of both
  backward = { queue_packets = 100 }       # server to client
  [[path]]
  name = "phone"
  both = { rate_mbps = 10, delay_ms = 30, jitter_ms = 5 }
  [[change]]
  at_s = 5
  path = "wifi"
  direction = "both"           # or forward, backward
  cut = true                   # cut = false ends it
  [[change]]
  at_s = 10
  path = "wifi"
  cut = false
  set = { rate_mbps = 5 }
"#;

const LINKS_KEYS: &str = "\
Of a link, each way: rate_mbps, delay_ms, jitter_ms, jitter_reorders (true, false), loss_percent, \
burst = { percent, length }, gilbert = { enter, leave, good_loss, bad_loss } (0 to 1), \
reorder_percent, reorder_ms, duplicate_percent, corrupt_percent, mtu (bytes), overhead (bytes a \
packet), slot_ms (what is sent within it arrives together), police = { rate_mbps, burst_bytes }, \
codel_ms (its target), and one of queue_bdp (default 1; at least queue_packets_least), queue_bytes, \
queue_packets.";

pub(crate) const SCENARIO_EXAMPLE: &str = r#"  name = "kitchen"
  paper = "FMTCP Fig. 8"       # what it repeats, if it does
  summary = "goodput against the loss of the second path"
  duration_s = 20              # measured time at most
  warmup_s = 2
  recv_buffer_kib = 128
  application = { kind = "blocks", block_bytes = 32768 }   # or bulk, video, web
  [[path]]
  name = "A"
  both = { rate_mbps = 10, delay_ms = 10 }
  [[path]]
  name = "B"
  both = { rate_mbps = 10, delay_ms = 40 }
  [[variant]]                  # what is compared
  profile = "fmtcp"
  [[variant]]
  profile = "mptcp"
  [[case]]                     # points on the x axis
  name = "1 %"
  x = 1
  set = { "path.B.forward.loss_percent" = 1 }
  [[case]]
  name = "10 %"
  x = 10
  set = { "path.B.forward.loss_percent" = 10 }
  [[chart]]
  title = "Goodput"
  metric = "goodput_mbps"      # or series = "goodput_mbps", over time
  y_label = "Mbit/s"
  [[claim]]
  text = "FMTCP loses only little as the loss of path B grows"
  check = { fall = "goodput_mbps", of = "fmtcp", below_percent = 25 }
"#;

const SCENARIO_KEYS: &str = "\
Also [[link]] for bottlenecks that paths share, [[change]] for what happens when, [[traffic]] for \
flows beside the connection (newreno, cubic, aimd, udp, on-off, connection). Checks of a claim: fall, \
ratio, bound, order. The scenarios in crates/mpfec-sim/scenarios are examples, and the module \
mpfec_sim::scenario::format documents every key and metric.";
