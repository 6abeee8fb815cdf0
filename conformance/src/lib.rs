//! The conformance judge for the Animal Store API.
