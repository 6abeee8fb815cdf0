//! A complete reference server for the Animal Store API.
