//! A struct together with the values of its fields, for the parts of a chip that a schedule's builder numbers.

/// Declares a struct and its constructor `declare`: first the local names, then one line a field with its value.
macro_rules! declared {
    (
        $(#[$meta:meta])*
        pub struct $name:ident, declare($($argument:ident: $argument_type:ty),*) {
            $(let $local:pat = $of_local:expr;)*
            Self {
                $($(#[$doc:meta])* $field:ident: $type:ty = $value:expr,)*
            }
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $name {
            pub fn declare($($argument: $argument_type),*) -> Self {
                $(let $local = $of_local;)*
                Self { $($field: $value,)* }
            }
        }
    };
}

pub(crate) use declared;
