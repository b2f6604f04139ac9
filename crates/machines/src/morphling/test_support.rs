use super::machine::Morphling;

pub fn machine() -> Morphling {
    Morphling::new(&crate::description("morphling").expect("the built-in file is right")).expect("its figures fit")
}
