//! Options that make a server a mock for the tests of clients.

use clap::Args;

/// What makes a server a mock. Without these options it is what it is without this module.
#[derive(Clone, Debug, Default, Args)]
pub struct MockArgs {
    /// Give a plan this key (any bearer token), or several, separated by commas or spaces; repeatable. On the command line they
    /// replace those of the environment
    #[arg(
        long = "key",
        value_name = "PLAN=KEY",
        env = "ANIMAL_STORE_KEYS",
        hide_env_values = true,
        help_heading = "Mock"
    )]
    pub keys: Vec<String>,
}
