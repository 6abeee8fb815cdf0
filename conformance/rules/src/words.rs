//! Enumerations whose values have words.

/// Declares an enumeration with a word for each value, such as `pub enum Side { Server = "server", Client = "client" }`, and the list of its
/// values.
#[doc(hidden)]
#[macro_export]
macro_rules! worded {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident { $($(#[$of_value:meta])* $value:ident = $word:literal,)* }
    ) => {
        $(#[$meta])*
        $visibility enum $name {
            $($(#[$of_value])* $value,)*
        }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: [$name; [$($word),*].len()] = [$($name::$value),*];

            /// The word for the value, as command lines and reports have it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$value => $word,)*
                }
            }
        }
    };
}
