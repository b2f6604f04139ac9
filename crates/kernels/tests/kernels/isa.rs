//! Does a name select its set and nothing above it, and is a wrong one rejected with a remedy?

use polyfabric_kernels::isa::*;
#[test]
fn valid_names_are_accepted_and_others_rejected() {
    for isa in Isa::ALL {
        assert_eq!(isa.name().parse(), Ok(isa));
        match Isa::named(isa.name()) {
            Ok(named) => assert!(named == isa && isa.is_present()),
            Err(error) => assert!(!isa.is_present() && error == IsaError::Absent { isa }),
        }
    }
    assert_eq!(
        "avx".parse::<Isa>().unwrap_err().to_string(),
        "there is no instruction set \"avx\" (POLYFABRIC_ISA); the sets are avx512, avx2, neon, portable, and without the variable the processor's best is used"
    );
    let absent = IsaError::Absent { isa: Isa::Avx512 }.to_string();
    let present: Vec<&str> = Isa::present().map(Isa::name).collect();
    let present = present.join(", ");
    assert_eq!(
        absent,
        format!(
            "this processor does not have avx512 (POLYFABRIC_ISA); choose among {present}, or leave the variable unset"
        )
    );
}

#[test]
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
fn aarch64_has_neon() {
    assert_eq!(Isa::fastest(), Isa::Neon);
    assert!(Isa::present().eq([Isa::Neon, Isa::Portable]));
}

#[test]
fn usable_sets_end_at_the_selected_one() {
    let usable: Vec<Isa> = Isa::usable().collect();
    assert_eq!(usable.first(), Some(&Isa::best()));
    assert_eq!(usable.last(), Some(&Isa::Portable));
    assert!(usable.is_sorted_by(|a, b| a > b));
}
