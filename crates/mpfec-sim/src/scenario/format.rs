//! Scenarios as TOML files.
//!
//! A scenario is a set of paths with changes, written as in [`toml`](crate::toml), and what
//! follows. Every key that is not marked as needed may be left out; unknown keys are errors.
//!
//! ```toml
//! name = "fmtcp-fig08"              # needed; 1 to 64 letters, digits, '-', '_', '.'
//! paper = "FMTCP Fig. 8"            # what it repeats
//! summary = "goodput against the loss of the second path"
//! most_runs = 3                     # seeds at most, where cases are many (as many as are asked for)
//!
//! duration_s = 60                   # measured time at most, 0.1 to 100000 (60)
//! warmup_s = 5                      # before it: what happens then does not count (0)
//! start_s = 0                       # before that: cross traffic alone (0)
//! sample_s = 1                      # width of the steps of a time series, from 0.01 (1)
//! recv_buffer_kib = 128             # what the receiver may hold, 16 to 4194304 (12288, which grows to 65536)
//! send_buffer_kib = 128             # what the sender may be ahead (65536)
//! block_symbols = 64                # source symbols in a block at most, 1 to 1024 (64)
//! use_paths = ["A", "B"]            # the paths that there are (all); for cases with fewer of them
//! packet_bytes = 1500               # largest packet, IPv4 and UDP headers included, 1228 to 9028 (1500)
//! pauses = { every_s = 2, most_ms = 80 }        # both ends stand still so often, for up to so long (never)
//!
//! [application]                     # what the client sends to the server; bulk without an end
//! kind = "blocks"
//! block_bytes = 32768
//!
//! [[link]]                          # links that paths share, up to 16: a queue in each direction
//! name = "core"
//! both = { rate_mbps = 8, delay_ms = 25, queue_packets = 50 }
//!
//! [[path]]                          # needed; 1 to 8, each link with a rate_mbps
//! name = "A"
//! both = { rate_mbps = 10, delay_ms = 10 }
//! via = ["core"]                    # crossed after the path's own link; on the way back, before
//! lent = { rate_mbps = 8, traffic = ["tcp"] }   # a relay's link of that rate, and its own flows
//!
//! [[path]]
//! name = "B"
//! both = { rate_mbps = 10, delay_ms = 40 }
//!
//! [[change]]                        # at most 1000
//! at_s = 50                         # since the start of the run, not of the measurement
//! path = "B"                        # or link = "core"
//! set = { loss_percent = 35 }
//!
//! [[traffic]]                       # cross traffic, at most 64 tables
//! kind = "newreno"
//! name = "tcp"                      # needed; its goodput is traffic.tcp.goodput_mbps
//! path = "A"                        # over all links of this path; or via = ["core"]
//! rate_mbps = 2                     # what its application has to send; as much as it can if absent
//!
//! [[variant]]                       # needed; what is compared, 1 to 32: a curve each
//! name = "fmtcp"                    # the profile's name if absent
//! profile = "fmtcp"                 # the variant's name if absent
//! scheduler = "lowest-rtt"          # and codec, congestion, redundancy: as on the command line
//!
//! [[variant]]
//! name = "2-tcp"
//! profile = "mptcp"
//! connections = "per-path"          # a connection on each path instead of one over all: their figures added up
//!
//! [[variant]]
//! name = "B alone"
//! profile = "mptcp"
//! paths = ["B"]                     # the paths that are used, or "best": the one that carries most
//!                                   # alone; all of them if absent
//! set = { "recv_buffer_kib" = 64 }  # as in a case
//!
//! [[case]]                          # a point on the x axis each; one case, `all`, without any
//! name = "5 %"                      # needed
//! x = 5                             # where it lies, if x is a number
//! set = { "path.B.forward.loss_percent" = 5, "recv_buffer_kib" = 64 }
//!
//! [[case]]
//! name = "10 %"
//! x = 10
//! set = { "path.B.forward.loss_percent" = 10 }
//!
//! [[chart]]                         # what the report draws
//! title = "Goodput"                 # the metric's name if absent
//! metric = "goodput_mbps"           # over the cases; or series = "goodput_mbps" over time,
//!                                   # of case = "5 %" (the first)
//! kind = "line"                     # or "bar"
//! log_x = false
//! x_label = "loss of path B, percent"
//! y_label = "Mbit/s"
//! variants = ["fmtcp"]              # all of them if absent
//!
//! [[claim]]                         # what the paper says, and when it counts as held
//! text = "FMTCP loses only little as the loss of path B grows"
//! remark = "..."                    # why it comes out as it does, if that is not the obvious
//! where = { metric = "srtt_ms.B", of = "fmtcp", at_most = 200 }   # in which of the cases (in all)
//! check = { fall = "goodput_mbps", of = "fmtcp", below_percent = 25 }
//! ```
//!
//! # Overrides
//!
//! The keys of `set` are those of the file with dots between them. A table of an array goes by
//! its `name`, one without a name (a change) by its position, from 1. A key that excludes
//! another one (`queue_packets`, `queue_bdp`; `packet_bytes`, `packet_mix`; …) takes its place,
//! and a table with a `kind` takes the place of the whole table. A case changes the file, a
//! variant changes the case. Names of paths do not change.
//!
//! # Grids
//!
//! Instead of cases, a file may have points drawn at random, the same for the same seed:
//!
//! ```toml
//! [grid]
//! points = 200
//! seed = 1
//! rate_mbps = [1, 40]               # ranges: small figures are as likely as large ones
//! rtt_ms = [10, 400]
//! loss_percent = [0.1, 30]
//! lossless = 0.25                   # share of the paths that lose nothing
//! burst = [1, 8]                    # mean length of bursts, on every second path with loss
//! queue_bdp = [0.25, 4]             # queue in bandwidth-delay products
//! queue_packets_least = 5
//! ```
//!
//! A point has between one and all of the file's paths. Its name says what was drawn, for each
//! path `rate/RTT/loss x burst@queue packets`.
//!
//! # Axes
//!
//! Instead of cases, a file may have axes: there is a case for every point of one with every
//! point of the others, called by the points' names. A point has the keys of a case.
//!
//! ```toml
//! [[axis]]
//! points = [
//!   { name = "10 Mbit/s", set = { "link.core.both.rate_mbps" = 10 } },
//!   { name = "30 Mbit/s", set = { "link.core.both.rate_mbps" = 30 } },
//! ]
//!
//! [[axis]]
//! points = [
//!   { name = "20 ms", set = { "link.core.both.delay_ms" = 10 } },
//!   { name = "200 ms", set = { "link.core.both.delay_ms" = 100 } },
//! ]
//! ```
//!
//! # Relays
//!
//! `lent` has the server announce the relay's share of a path (UC Eq. 7.3) to the client every
//! `every_s` seconds (2) from the start of the connection on: from the `rate_mbps` of the link
//! and of those flows that run at that time. Each flow needs a `rate_mbps`. What the path really
//! takes corrects the share, unless `measured = false`.
//!
//! # Applications
//!
//! | `kind` | keys | |
//! | --- | --- | --- |
//! | `bulk` | `bytes` | one stream, as fast as it goes; without an end if `bytes` is absent |
//! | `blocks` | `block_bytes` (32768), `rate_mbps`, `load_percent` (of the limit) or `best_path_load_percent` (of the best path's), `blocks` | one stream in blocks whose delay is measured; as fast as it goes, without an end |
//! | `video` | `rate_mbps`, `deadline_ms`: needed; `fps` (25) | frames at a constant rate; complete if read within the deadline |
//! | `web` | `objects`, `object_bytes` or `page_bytes`: needed; `pages`, `parallel` (100), `pause_s` (0) | the server asks for the first object of a page, then for all others, each on its own stream |
//!
//! A run ends after `duration_s`, or when the application has been served completely. One with
//! an end (`bytes`, `blocks`, `pages`) is measured from its start and has no `warmup_s`.
//! The delays of up to 10 million blocks or frames are kept: smaller blocks take a shorter run.
//!
//! # Traffic
//!
//! Every kind has `name` and `path` or `via`: needed; `direction` (`"forward"`, `"backward"`),
//! `start_s` (0), `stop_s`, `flows` (1, up to 64 alike; their goodput is added up) and
//! `delay_ms` (0; on top of that of the links, in each direction).
//!
//! | `kind` | keys | |
//! | --- | --- | --- |
//! | `newreno` | `rate_mbps`, `bytes`, `packet_bytes` (1500) or `packet_mix`, `sack` (false: selective acknowledgements) | TCP NewReno; as much as it can, or what its application has to send |
//! | `cubic` | the same | TCP CUBIC (RFC 9438) with selective acknowledgements (RFC 6675) and HyStart++ (RFC 9406) |
//! | `aimd` | the same, `sack`, `increase` (1), `decrease` (0.5: what remains) | the same with another window |
//! | `udp` | `rate_mbps`: needed; `packet_bytes` or `packet_mix` | at a constant rate |
//! | `on-off` | `rate_mbps`, `on_s`, `off_s`: needed; `distribution`, `off_distribution` (`"exponential"`, `"pareto"`, `"constant"`), `shape` (1.5), `packet_bytes` or `packet_mix` | at that rate while on |
//! | `connection` | `profile` (that of the variant) | another connection of this transport, bulk without an end |
//!
//! Rates and sizes are those on the link, headers included. `packet_mix` is a list of
//! `[bytes, share]`.
//!
//! # Metrics
//!
//! Of the measured time only, and of the connections under test unless a name says otherwise.
//!
//! | name | |
//! | --- | --- |
//! | `goodput_mbps` | bytes that the server's application has read |
//! | `limit_percent` | that of the limit: what the paths of the case can carry together, rate x (1 - loss) x 0.957 each |
//! | `window_limit_percent` | the same of what also fits through the receive buffer, once per round trip of the fastest path |
//! | `share`, `share.<path>` | what arrives over the paths, or this one, headers included, divided by an equal part of their slowest links (each counted once): rate x (1 - loss), divided by the connections and flows towards the server that cross the link in the measured time |
//! | `completion_ratio` | `completion_s` of a bulk transfer, divided by the time at the limit plus two round trips of the fastest path |
//! | `completion_s` | from the start of the connection until everything has been read; the end of the run if it has not |
//! | `completed_percent` | 100 if everything has been read, otherwise 0 |
//! | `block_delay_ms.mean`, `.p50`, `.p99`, `.max` | from when a block's first byte leaves, or is due if blocks come at a rate, to the read of its last; also of video frames |
//! | `block_delay_ms.jitter` | mean difference between one block's delay and the next one's |
//! | `block_delay_ms.deviation` | standard deviation of the delays |
//! | `repair_percent` | repair symbols and parity packets of all symbols and parity packets sent |
//! | `retransmitted_percent` | source symbols sent again of all symbols sent |
//! | `late_percent` | symbols, source or repair, that left because others were lost and nothing on its way made up for them, of all symbols sent |
//! | `coefficient_percent` | bytes of coefficients of all bytes sent, per UDP payload |
//! | `redundant_percent` | symbols that told the receiver nothing new of all that arrived |
//! | `header_overhead_percent` | bytes sent that are no symbols' payload, of all bytes sent, per UDP payload |
//! | `out_of_order_bytes.mean`, `.max` | what the receiver holds because something before it is missing |
//! | `srtt_ms.<path>`, `queue_ms.<path>`, `loss_percent.<path>` | smoothed round trip; delay of the queues from client to server; packets lost there for whatever reason |
//! | `overflow_percent.<path>` | packets that found a queue towards the server full, of all that came to that queue, whoever sent them; of the path's links, that with most |
//! | `overflow_percent` | the same of the path with most |
//! | `path.<path>.goodput_mbps` | UDP payload that the path has delivered to the server |
//! | `frames_complete_percent` | video frames that were complete in time |
//! | `page_s` | mean time of a page |
//! | `parity.useful`, `parity.useless` | parity packets that repaired something, and that arrived and did not |
//! | `parity_percent.<path>` | bytes of parity packets of all bytes sent on the path |
//! | `traffic.<name>.goodput_mbps` | what has arrived at the sink: of TCP in order, headers not counted |
//! | `traffic.<name>.lost_percent` | packets that did not arrive |
//! | `traffic.<name>.share` | `share` of each of its flows, from its goodput with headers |
//!
//! Time series: `goodput_mbps`, `block_delay_ms`, `path.<path>.goodput_mbps`, `srtt_ms.<path>`,
//! `queue_ms.<path>`, `cwnd.<path>` (bytes), `ratio.<path>` (data packets per parity packet) and
//! `traffic.<name>.goodput_mbps`, each from the start of the measurement.
//! Wherever a metric is asked for, `series@from-to` is the mean of a time series over these
//! seconds.
//!
//! # Checks
//!
//! A claim has one check or a list of them, all of which must hold. Figures are means over the
//! seeds. A claim with a `where` is about those cases alone in which a metric of a variant is in a
//! range (`at_least`, `at_most`). `cases` is a list of names, `"first..last"` being all from the one to the other; all
//! cases if absent.
//!
//! | check | keys | holds if |
//! | --- | --- | --- |
//! | `ratio` = metric | `of`, `to` (`of`), `to_metric`, `of_case`, `to_case`, `at_least`, `at_most`, `cases` | in each case, the metric of the one variant divided by that of the other is in the range |
//! | `fall` = metric | `of`, `below_percent`, `at_least_percent`, `cases` | from the best to the worst of the cases it falls by that much of the best |
//! | `bound` = metric | `of`, `of_case`, `at_least`, `at_most`, `cases` | in each case, the metric is in the range |
//! | `order` = metric | `variants` (the best first), `best` (`"highest"`, `"lowest"`), `slack_percent` (0), `cases` | in each case, none is better than the one before it |
