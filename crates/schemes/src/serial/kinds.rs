//! The kinds of files of a scheme.

/// Declares `Kind`, the kinds of one scheme's files: variant, number in the file, name for messages. The first one is secret.
macro_rules! file_kinds {
    ($($(#[$doc:meta])* $kind:ident = $code:literal, $name:literal;)+) => {
        /// The content of a file.
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
