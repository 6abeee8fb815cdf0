//! How many TCP connections this machine has opened.

/// The number of TCP connections opened since the machine started, by all programs that share its network; `None` where the
/// system does not count them in `/proc/net/snmp`, as Linux does.
pub(crate) fn opened() -> Option<u64> {
    active_opens(&std::fs::read_to_string("/proc/net/snmp").ok()?)
}

/// The counter `ActiveOpens` of the table `Tcp`, which has a line of names above a line of values.
fn active_opens(table: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|name| name == "ActiveOpens")?;
    values.split_whitespace().nth(place)?.parse().ok()
}
