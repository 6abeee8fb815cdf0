//! The rules, proven without a network: recorded traces of lawful servers are edited, and judged again.
//!
//! - `breaking`: what no lawful server answers. The rule for it must fail, and no unrelated one.
//! - `lawful`: what another lawful server would have answered. Nothing may fail.
//! - `combinations`: many lawful edits at once, alone and beside a breaking one.
//! - `messages`: what is said and recorded of all these.
//! - `withholding`: what a recording may leave out. Nothing may fail.

#![expect(clippy::disallowed_methods, reason = "the recorded traces are files; the rules themselves read none")]

mod breaking;
mod combinations;
mod lawful;
mod messages;
mod recording;
mod tools;
mod withholding;

/// The recorded traces.
const TRACES: [&str; 5] = ["free", "pro", "removed", "odd", "day"];
