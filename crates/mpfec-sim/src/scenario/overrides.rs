//! `set = { "path.B.forward.loss_percent" = 5 }`: values of a file changed by their dotted
//! keys, tables in arrays by their names.

use toml::{Table, Value};

use super::error::ScenarioProblem;

/// Puts `value` where `key` leads to.
pub(super) fn apply(root: &mut Table, key: &str, value: &Value) -> Result<(), ScenarioProblem> {
    let first = key.split('.').next().unwrap_or_default();
    if !SETTABLE.contains(&first) {
        return Err(ScenarioProblem::Unknown {
            what: "settable key",
            name: key.to_owned(),
            known: SETTABLE.iter().map(|&key| key.to_owned()).collect(),
        });
    }
    in_table(root, key, value, key)
}

/// `whole` is the key for messages, `rest` what is left of it.
fn in_table(
    table: &mut Table,
    rest: &str,
    value: &Value,
    whole: &str,
) -> Result<(), ScenarioProblem> {
    let Some((first, rest)) = rest.split_once('.') else {
        put(table, rest, value);
        return Ok(());
    };
    let next = table
        .entry(first)
        .or_insert_with(|| Value::Table(Table::new()));
    match next {
        Value::Table(table) => in_table(table, rest, value, whole),
        Value::Array(array) => in_array(array, rest, value, whole),
        _ => Err(ScenarioProblem::Other(format!(
            "{whole:?} leads through {first}, which is neither a table nor an array of tables"
        ))),
    }
}

fn in_array(
    array: &mut [Value],
    rest: &str,
    value: &Value,
    whole: &str,
) -> Result<(), ScenarioProblem> {
    let names: Vec<String> = array
        .iter()
        .filter_map(name_of)
        .map(str::to_owned)
        .collect();
    // A name may have dots itself: the longest one that fits is meant.
    let named = array
        .iter_mut()
        .filter_map(|element| {
            let name = name_of(element)?.to_owned();
            let rest = rest.strip_prefix(&name)?.strip_prefix('.')?;
            Some((name.len(), element, rest))
        })
        .max_by_key(|(length, ..)| *length);
    if let Some((_, element, rest)) = named {
        return in_element(element, rest, value, whole);
    }
    let (first, rest) = rest.split_once('.').unwrap_or((rest, ""));
    // Tables without names, such as changes, go by their position, from 1.
    let index = first
        .parse::<usize>()
        .ok()
        .and_then(|index| index.checked_sub(1));
    let count = array.len();
    match index.and_then(|index| array.get_mut(index)) {
        Some(element) if !rest.is_empty() => in_element(element, rest, value, whole),
        Some(_) => Err(ScenarioProblem::Other(format!(
            "{whole:?} names a whole table: name one of its keys"
        ))),
        None => Err(ScenarioProblem::Unknown {
            what: "table called",
            name: first.to_owned(),
            known: if names.is_empty() {
                (1..=count.min(20)).map(|index| index.to_string()).collect()
            } else {
                names
            },
        }),
    }
}

fn in_element(
    element: &mut Value,
    rest: &str,
    value: &Value,
    whole: &str,
) -> Result<(), ScenarioProblem> {
    match element {
        Value::Table(table) => in_table(table, rest, value, whole),
        _ => Err(ScenarioProblem::Other(format!(
            "{whole:?} leads into a list of values, not of tables"
        ))),
    }
}

/// Sets a key; those that exclude it give way. A table is merged into one that is there,
/// unless it says what kind it is: then it takes its place.
fn put(table: &mut Table, key: &str, value: &Value) {
    if let (Some(Value::Table(old)), Value::Table(new)) = (table.get_mut(key), value)
        && !new.contains_key("kind")
    {
        for (key, value) in new {
            put(old, key, value);
        }
        return;
    }
    for group in EXCLUSIVE {
        if group.contains(&key) {
            for other in *group {
                table.remove(*other);
            }
        }
    }
    table.insert(key.to_owned(), value.clone());
}

fn name_of(element: &Value) -> Option<&str> {
    element.get("name")?.as_str()
}

/// What a case or a variant may change.
pub(super) const SETTABLE: &[&str] = &[
    "application",
    "block_symbols",
    "change",
    "duration_s",
    "link",
    "packet_bytes",
    "path",
    "pauses",
    "recv_buffer_kib",
    "sample_s",
    "send_buffer_kib",
    "start_s",
    "traffic",
    "use_paths",
    "warmup_s",
];

/// Keys of a table of which it has one at most.
const EXCLUSIVE: &[&[&str]] = &[
    &["queue_bdp", "queue_bytes", "queue_packets"],
    &["burst", "gilbert"],
    &["packet_bytes", "packet_mix"],
    &["object_bytes", "page_bytes"],
    &["rate_mbps", "load_percent", "best_path_load_percent"],
];

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(key: &str, value: impl Into<Value>) -> Result<Table, ScenarioProblem> {
        let mut table: Table = r#"
            duration_s = 60
            application = { kind = "bulk", bytes = 5 }
            [[path]]
            name = "B"
            both = { rate_mbps = 10, queue_bdp = 1 }
            [[path]]
            name = "B.2"
            [[change]]
            at_s = 3
        "#
        .parse()
        .expect("TOML");
        apply(&mut table, key, &value.into())?;
        Ok(table)
    }

    #[test]
    fn a_key_leads_through_names_with_dots_and_through_tables_that_are_not_there() {
        let table = changed("path.B.forward.loss_percent", 5).expect("path B");
        assert_eq!(
            table["path"][0]["forward"]["loss_percent"].as_integer(),
            Some(5)
        );
        let table = changed("path.B.2.both.rate_mbps", 3).expect("path B.2");
        assert_eq!(table["path"][1]["both"]["rate_mbps"].as_integer(), Some(3));
        let table = changed("change.1.at_s", 7).expect("the first change");
        assert_eq!(table["change"][0]["at_s"].as_integer(), Some(7));
        assert_eq!(
            changed("recv_buffer_kib", 64).expect("new")["recv_buffer_kib"].as_integer(),
            Some(64)
        );
    }

    #[test]
    fn what_excludes_the_new_key_gives_way() {
        let table = changed("path.B.both.queue_packets", 50).expect("path B");
        assert_eq!(table["path"][0]["both"].get("queue_bdp"), None);
        assert_eq!(table["path"][0]["both"]["rate_mbps"].as_integer(), Some(10));
    }

    #[test]
    fn a_table_is_merged_unless_it_is_of_a_kind() {
        let new: Table = "bytes = 7".parse().expect("TOML");
        let table = changed("application", new).expect("merged");
        assert_eq!(table["application"]["kind"].as_str(), Some("bulk"));
        let new: Table = "kind = \"video\"".parse().expect("TOML");
        let table = changed("application", new).expect("replaced");
        assert_eq!(table["application"].get("bytes"), None);
    }

    #[test]
    fn what_leads_nowhere_names_what_there_is() {
        for (key, message) in [
            (
                "path.C.both.rate_mbps",
                "there is no table called \"C\"; there are B, B.2",
            ),
            (
                "claim.1.text",
                "there is no settable key \"claim.1.text\"; there are application, block_symbols, change, duration_s, link, packet_bytes, path, pauses, recv_buffer_kib, sample_s, send_buffer_kib, start_s, traffic, use_paths, warmup_s",
            ),
            (
                "change.2.at_s",
                "there is no table called \"2\"; there are 1",
            ),
            (
                "change.1",
                "\"change.1\" names a whole table: name one of its keys",
            ),
            (
                "duration_s.x",
                "\"duration_s.x\" leads through duration_s, which is neither a table nor an array of tables",
            ),
        ] {
            assert_eq!(changed(key, 1).expect_err(key).to_string(), message);
        }
    }
}
