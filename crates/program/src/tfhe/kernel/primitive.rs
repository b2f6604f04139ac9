//! The primitive operations: one row of one table each, with its text form, its types, and the count that it belongs to.

/// Type of a value within a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BodyType {
    /// N torus coefficients.
    Polynomial,
    /// N signed digits of one gadget level.
    Digits,
    /// Digits in the transform domain.
    Spectrum,
    /// A sum of products with key polynomials, in the transform domain.
    Product,
    /// One LWE ciphertext under the small key.
    Lwe,
    /// One signed digit of a mask element.
    Digit,
}

/// Numbers of primitive operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub rotations: u64,
    pub digits: u64,
    pub forward_transforms: u64,
    pub inverse_transforms: u64,
    /// Polynomial products in the transform domain, accumulating or not.
    pub multiplies: u64,
    /// Additions and subtractions of polynomials in the coefficient domain.
    pub additions: u64,
    pub product_rotations: u64,
    /// Additions and subtractions of products in the transform domain.
    pub product_additions: u64,
    /// Digits of mask elements.
    pub mask_digits: u64,
    /// Products of a digit and a key-switch key ciphertext.
    pub key_switch_products: u64,
}

/// Each row: the operation with its numbers, its name in the text form, the types of its operands and result, and its count.
macro_rules! primitives {
    ($($(#[$doc:meta])* $name:ident $({ $($(#[$about:meta])* $number:ident),+ })? =
        $text:literal, [$($operand:ident),*] -> $result:ident, $count:ident;)+) => {
        /// A primitive operation of iteration i.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Primitive {
            $($(#[$doc])* $name $({ $($(#[$about])* $number: u32),+ })?,)+
        }

        impl Primitive {
            /// Name in the text form.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name { .. } => $text,)+
                }
            }

            /// Types of the operands and of the result.
            pub fn signature(self) -> (&'static [BodyType], BodyType) {
                match self {
                    $(Self::$name { .. } => (&[$(BodyType::$operand),*], BodyType::$result),)+
                }
            }

            /// Its numbers, by name.
            pub fn numbers(self) -> Vec<(&'static str, u32)> {
                match self {
                    $(Self::$name { $($($number),+)? } => vec![$($((stringify!($number), $number)),+)?],)+
                }
            }

            /// The operation with this name in the text form and the numbers that `number` gives; `None` if there is none.
            ///
            /// # Errors
            /// Of `number`.
            pub fn read<E>(name: &str, mut number: impl FnMut() -> Result<u32, E>) -> Result<Option<Self>, E> {
                Ok(Some(match name {
                    $($text => Self::$name { $($($number: number()?),+)? },)+
                    _ => return Ok(None),
                }))
            }
        }

        impl Counts {
            /// Counts one operation.
            pub(super) fn add(&mut self, primitive: Primitive) {
                match primitive {
                    $(Primitive::$name { .. } => self.$count += 1,)+
                }
            }
        }
    };
}

primitives! {
    /// Polynomial times X^(a~_i); the amount comes from the ciphertext at run time.
    Rotate = "rotate", [Polynomial] -> Polynomial, rotations;
    /// Polynomial times X^⟨a~,u⟩. Bit j of pattern u selects a~_(im + j), of the m secret bits of the iteration.
    RotatePattern {
        /// u, not zero.
        pattern
    } = "rotate_pattern", [Polynomial] -> Polynomial, rotations;
    /// Product times the transform of X^⟨a~,u⟩. Only in exact and binary64 arithmetic.
    RotateProduct {
        /// u, not zero.
        pattern
    } = "rotate_product", [Product] -> Product, product_rotations;
    SubtractProduct = "subtract_product", [Product, Product] -> Product, product_additions;
    AddProduct = "add_product", [Product, Product] -> Product, product_additions;
    Subtract = "subtract", [Polynomial, Polynomial] -> Polynomial, additions;
    Add = "add", [Polynomial, Polynomial] -> Polynomial, additions;
    /// Digits of one gadget level of a polynomial; level 0 is the most significant.
    Digit { level } = "digit", [Polynomial] -> Digits, digits;
    /// Digits to the transform domain.
    ForwardTransform = "forward_transform", [Digits] -> Spectrum, forward_transforms;
    /// Spectrum times the transform of bootstrapping-key polynomial (i, row, column).
    Multiply {
        /// Row j · l + level of the GGSW ciphertext. A key with several bits an iteration has one such ciphertext per pattern: add its number times (k + 1)l.
        row,
        column
    } = "multiply", [Spectrum] -> Product, multiplies;
    /// First operand (a product) plus the second (a spectrum) times the transform of bootstrapping-key polynomial (i, row, column).
    MultiplyAccumulate {
        /// As of `Multiply`.
        row,
        column
    } = "multiply_accumulate", [Product, Spectrum] -> Product, multiplies;
    /// Product back to torus coefficients.
    InverseTransform = "inverse_transform", [Product] -> Polynomial, inverse_transforms;
    /// One digit of mask element a'_i of the ciphertext being switched; level 0 is the most significant. No operand.
    MaskDigit { level } = "mask_digit", [] -> Digit, mask_digits;
    /// LWE ciphertext minus digit times key-switch key ciphertext (i, level).
    SubtractKeyProduct { level } = "subtract_key_product", [Lwe, Digit] -> Lwe, key_switch_products;
}
