//! A sender that holds the ticket and means harm.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use mpfec_core::net::{Connection, Endpoint, RecvStream, SendStream};
use mpfec_core::{ClientConfig, ClientTls, Ticket};
use serde_json::Value;

use crate::support::{LONG, Receiver, send, serve, tree};

#[test]
fn no_name_leads_out_of_the_directory() {
    let outer = tempfile::tempdir().unwrap();
    let inbox = tempfile::tempdir_in(outer.path()).unwrap();
    let outside = outer.path().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, inbox.path().join("way-out")).unwrap();
    symlink("..", inbox.path().join("up")).unwrap();
    let absolute = outside.join("x").to_str().unwrap().as_bytes().to_vec();
    let long = vec![b'x'; 256];
    let deep = vec![&b"d"[..]; 65];
    let hostile: [&[&[u8]]; 17] = [
        &[b"..", b"outside", b"x"],
        &[b".."],
        &[b"a", b"..", b"..", b"outside", b"x"],
        &[b"."],
        &[b""],
        &[],
        &[&absolute],
        &[b"/", b"x"],
        &[b"../outside/x"],
        &[b"a/../../outside/x"],
        &[b"nul\0byte"],
        &[b"way-out", b"x"],
        &[b"way-out", b"new", b"x"],
        &[b"up", b"outside", b"x"],
        &[&long],
        &deep,
        &[b"way-out"],
    ];
    let mut data = Vec::new();
    for path in hostile {
        data.extend(file(path, b"harm"));
        data.extend(directory(path));
    }
    data.extend(file(&[b"harmless"], b"fine"));
    data.push(0);
    let receiver = Receiver::start_in(inbox, &["--overwrite"]);
    let answers = converse(&receiver.ticket, hello(1), data);
    receiver.process.end(LONG).failed(4, &["was not stored"]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "it got out");
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 2, "it got out");
    // A link in the place of a file is replaced by the file; nothing else is there.
    let found = tree(receiver.dir.path());
    let names: Vec<_> = found
        .keys()
        .map(|name| String::from_utf8_lossy(name))
        .collect();
    assert_eq!(
        names,
        ["a", "harmless", "up", "way-out"].map(String::from)[1..],
        "{found:?}"
    );
    let summary = answers.last().unwrap();
    assert_eq!(summary["message"], "summary", "{answers:#?}");
    assert_eq!(summary["stored"], 2, "{answers:#?}");
}

#[test]
fn what_is_no_hello_is_refused_and_the_next_sender_is_served() {
    let receiver = Receiver::start(&[]);
    let huge = u32::MAX.to_be_bytes().to_vec();
    let garbage = message(b"\xff\xfe{[");
    let nested = message("[".repeat(100_000).as_bytes());
    let partial = 100_u32.to_be_bytes().into_iter().chain(*b"{}").collect();
    for opening in [huge, garbage, nested, partial, Vec::new(), hello(99)] {
        let answers = converse(&receiver.ticket, opening, vec![0]);
        assert!(answers.is_empty(), "{answers:?}");
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("x"), "content").unwrap();
    send(&receiver.ticket, &[dir.path().join("x").as_os_str()])
        .end(LONG)
        .done();
    receiver.process.end(LONG).done();
}

#[test]
fn data_that_break_the_rules_end_the_transfer_and_leave_nothing() {
    let complete = file(&[b"x"], b"content");
    let cut = complete[..complete.len() - 10].to_vec();
    let unknown_kind = vec![77];
    let mut chunk_too_large = head(&[b"x"]);
    chunk_too_large.extend_from_slice(&((1_u32 << 20) + 1).to_be_bytes());
    let endless_path = [&[1, 0, 0xff, 0xff][..], &[0xff; 1000]].concat();
    for data in [cut, unknown_kind, chunk_too_large, endless_path, Vec::new()] {
        let receiver = Receiver::start(&[]);
        converse(&receiver.ticket, hello(1), data);
        receiver.process.end(LONG).failed(9, &["protocol"]);
        assert_eq!(fs::read_dir(receiver.dir.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_file_whose_hash_is_wrong_is_not_kept() {
    let receiver = Receiver::start(&[]);
    let mut data = file(&[b"x"], b"content");
    let last = data.len() - 1;
    data[last] ^= 1;
    data.push(0);
    let answers = converse(&receiver.ticket, hello(1), data);
    receiver
        .process
        .end(LONG)
        .failed(7, &["x was not stored", "BLAKE3"]);
    assert_eq!(fs::read_dir(receiver.dir.path()).unwrap().count(), 0);
    assert!(
        answers
            .iter()
            .any(|answer| answer["results"][0]["failure"]["kind"] == "corrupt"),
        "{answers:?}"
    );
}

#[test]
fn what_it_says_cannot_move_the_cursor_or_fill_the_screen() {
    let receiver = Receiver::start(&[]);
    let label = format!("\u{1b}[2J\n\r{}", "x".repeat(100_000));
    let hello = serde_json::json!({
        "service": "transfer", "version": 1, "entries": u64::MAX, "bytes": u64::MAX, "label": label,
    });
    let mut data = file(&[b"..\x1b[2J\n/"], b"");
    data.push(0);
    converse(
        &receiver.ticket,
        message(hello.to_string().as_bytes()),
        data,
    );
    let ended = receiver.process.end(LONG);
    ended.failed(4, &["was not stored"]);
    assert!(
        !ended.err.contains('\u{1b}') && ended.err.len() < 2000,
        "{:?}",
        ended.err
    );
}

#[test]
fn failures_without_end_do_not_fill_the_memory() {
    let receiver = Receiver::start(&[]);
    let mut data = directory(&[b".."]).repeat(300_000);
    data.push(0);
    let answers = converse(&receiver.ticket, hello(1), data);
    assert_eq!(answers.last().unwrap()["failed"], 300_000);
    receiver.process.end(LONG).failed(4, &["299999 more"]);
}

fn hello(version: u32) -> Vec<u8> {
    let hello = serde_json::json!({
        "service": "transfer", "version": version, "entries": 1, "bytes": 4, "label": "harm",
    });
    message(hello.to_string().as_bytes())
}

fn message(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_be_bytes(), body].concat()
}

fn file(path: &[&[u8]], content: &[u8]) -> Vec<u8> {
    let mut out = head(path);
    if !content.is_empty() {
        out.extend_from_slice(&(content.len() as u32).to_be_bytes());
        out.extend_from_slice(content);
    }
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(blake3::hash(content).as_bytes());
    out
}

fn head(path: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![1, 0];
    put_path(&mut out, path);
    out.extend_from_slice(&u64::MAX.to_be_bytes());
    out
}

fn directory(path: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![2];
    put_path(&mut out, path);
    out
}

fn put_path(out: &mut Vec<u8>, path: &[&[u8]]) {
    out.extend_from_slice(&(path.len() as u16).to_be_bytes());
    for name in path {
        out.extend_from_slice(&(name.len() as u16).to_be_bytes());
        out.extend_from_slice(name);
    }
}

/// Says `opening` on the control stream and `data` on the data stream, and returns the
/// answers up to the end, whichever way that comes.
fn converse(ticket: &Ticket, opening: Vec<u8>, data: Vec<u8>) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let conversation = async {
        let endpoint = Endpoint::client().unwrap();
        let config =
            ClientConfig::new(ClientTls::pinned(ticket.fingerprint())).with_secret(ticket.secret());
        let connection = endpoint.connect(config, ticket.addresses()).await.unwrap();
        let (control, answers) = connection.open_bi().await.unwrap();
        let (answers, ()) =
            tokio::join!(listen(answers), speak(&connection, control, opening, data));
        connection.close(0, "");
        let _ = tokio::time::timeout(Duration::from_secs(1), endpoint.wait_idle()).await;
        answers
    };
    let bounded = runtime.block_on(async { tokio::time::timeout(LONG, conversation).await });
    bounded.expect("the receiver says nothing and does not hang up")
}

/// The receiver may hang up at any time.
async fn speak(connection: &Connection, mut control: SendStream, opening: Vec<u8>, data: Vec<u8>) {
    let _ = control.write_all(&opening).await;
    let _ = control.finish();
    if let Ok(mut stream) = connection.open_uni().await {
        let _ = stream.write_all(&data).await;
        let _ = stream.finish();
        let _ = stream.delivered().await;
    }
}

async fn listen(mut answers: RecvStream) -> Vec<Value> {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = answers.read_chunk(1 << 16).await {
        bytes.extend_from_slice(&chunk);
    }
    let mut rest = &bytes[..];
    let mut found = Vec::new();
    while let Some((length, body)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let Some((body, next)) = body.split_at_checked(length) else {
            break;
        };
        found.push(serde_json::from_slice(body).unwrap());
        rest = next;
    }
    found
}

#[test]
fn a_directory_named_like_commands_to_a_terminal_is_told_of_in_letters() {
    let dir = tempfile::tempdir().unwrap();
    let hostile = dir.path().join("d\u{1b}[31m");
    fs::create_dir(&hostile).unwrap();
    fs::write(hostile.join(".mpfec-aaaaaa.part"), "left").unwrap();
    let small = tempfile::NamedTempFile::new().unwrap();
    let words = ["recv", "--once", "--listen", "127.0.0.1:0", "--dir"];
    let words = [&words[..], &[dir.path().to_str().unwrap()]].concat();
    let (receiver, ticket) = serve(&words);
    send(&ticket, &[small.path().as_os_str()]).end(LONG).done();
    let ended = receiver.end(LONG);
    assert!(ended.err.contains("left over"), "{ended:#?}");
    assert!(!ended.err.contains('\u{1b}'), "{ended:#?}");
}
