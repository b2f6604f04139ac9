//! What a scheme's files hold, as an enumeration.

/// Declares `Kind`, what a file of one scheme holds: variant, number in the file, name for messages. The secret kind is the first one.
macro_rules! file_kinds {
    ($($(#[$doc:meta])* $kind:ident = $code:literal, $name:literal;)+) => {
        /// What a file holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Kind {
            $($(#[$doc])* $kind = $code,)+
        }

        impl $crate::serial::FileKind for Kind {
            fn code(self) -> u32 {
                self as u32
            }

            fn from_code(code: u32) -> Option<Self> {
                [$(Self::$kind),+].into_iter().find(|&kind| kind as u32 == code)
            }

            fn is_private(self) -> bool {
                self == Self::ClientKey
            }
        }

        impl std::fmt::Display for Kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $(Self::$kind => $name,)+
                })
            }
        }
    };
}

pub(crate) use file_kinds;
