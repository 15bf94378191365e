//! What is left of paths that come and go while another one stays.

use std::time::Duration;

use super::operations::scene;
use super::scene::{CLIENT, Party, SERVER, Scene};
use crate::id::{Dir, Side, StreamId};

const MOMENT: Duration = Duration::from_millis(100);

fn party(scene: &mut Scene, end: usize) -> Option<&mut Party> {
    scene.ends[end].parties.values_mut().next()
}

/// A connection of which one path stays, and many came and went.
fn visited() -> Scene {
    let mut scene = scene(0x80);
    scene.run(10 * MOMENT, |_| false);
    for path in 1..100 {
        let (now, tuple) = (scene.now, scene.tuple(1, 1));
        let client = &mut party(&mut scene, CLIENT).expect("a connection").connection;
        assert_eq!(client.open_path(now, tuple), Ok(path));
        client.set_backup(path, true);
        scene.flush();
        scene.run(MOMENT, |_| false);
        let now = scene.now;
        let client = &mut party(&mut scene, CLIENT).expect("a connection").connection;
        assert_eq!(client.stats().paths.len(), 2);
        assert_eq!(client.close_path(now, path), Ok(()));
        scene.flush();
        scene.run(MOMENT, |_| false);
    }
    scene
}

#[test]
fn of_paths_that_came_and_went_nothing_is_kept_for_frames() {
    let mut scene = visited();
    for end in [CLIENT, SERVER] {
        let connection = &party(&mut scene, end).expect("a connection").connection;
        let kept = connection.kept_of_paths();
        assert!(kept <= 8, "end {end}: {kept}");
    }
}

#[test]
fn a_reset_of_the_path_that_stayed_is_known_after_many_others() {
    let mut scene = visited();
    scene.restart(SERVER);
    let client = party(&mut scene, CLIENT).expect("a connection");
    let stream = client.connection.open_stream(Dir::Uni);
    assert_eq!(stream, Some(StreamId::new(Side::Client, Dir::Uni, 0)));
    client.write(StreamId::new(Side::Client, Dir::Uni, 0), 100);
    scene.flush();
    scene.run(10 * MOMENT, |_| false);
    assert!(party(&mut scene, CLIENT).is_none(), "it waits in vain");
}
