//! Are levels minimal, and are programs that do not fit rejected with location, values and remedy?

use super::chain;
use polyfabric_program::Location;
use polyfabric_program::rns::homomorphic::{Builder, NodeId, Program, ProgramError, Scheme, Values};
use polyfabric_program::rns::levels::{Plan, PlanRules, Scale};
use polyfabric_program::rns::lowering::{LevelPolicy, Rescaling};

fn program(slots: usize, build: impl FnOnce(&mut Builder) -> Result<NodeId, ProgramError>) -> Program {
    let mut builder = Builder::new("test", Scheme::Ckks, slots).expect("a program");
    let result = build(&mut builder).expect("a node");
    builder.output("result", result).expect("an output");
    builder.finish().expect("a program")
}

fn rules(levels: LevelPolicy, top: usize) -> PlanRules {
    PlanRules { levels, rescaling: Rescaling::Waterline, top, bootstrapping: None, output: 0 }
}

fn at(line: u32) -> Option<Location> {
    Some(Location { file: "model.py".into(), line })
}

/// x⁴ + 3·x·y, where y is used only once, near the end.
fn quartic() -> Program {
    program(8, |b| {
        let (x, y) = (b.input("x")?, b.input("y")?);
        let square = b.square(x)?;
        let fourth = b.square(square)?;
        let three = b.constant(Values::real(&[3.0]))?;
        let tripled = b.mul(y, three)?;
        let product = b.mul(x, tripled)?;
        b.add(fourth, product)
    })
}

#[test]
fn every_operation_runs_as_low_as_it_can() {
    let (program, chain) = (quartic(), chain(5));
    let plan = Plan::new(&program, &chain, &rules(LevelPolicy::Lowest, 5)).expect("a plan");
    let levels: Vec<usize> = program.iter().map(|(id, _)| plan.node(id).level).collect();
    // x, y, x², x⁴, 3, 3y, 3xy, sum, output: y is encrypted at level 1 only, and 3·y uses no level.
    assert_eq!(levels, [2, 1, 1, 0, 0, 1, 0, 0, 0]);
    assert_eq!(plan.start(&program), 2);
    // The sum of two products is rescaled once.
    assert!(plan.node(NodeId(7)).rescale_due && !plan.node(NodeId(8)).rescale_due);
    let highest = Plan::new(&program, &chain, &rules(LevelPolicy::Highest, 5)).expect("a plan");
    let levels: Vec<usize> = program.iter().map(|(id, _)| highest.node(id).level).collect();
    assert_eq!(levels, [5, 5, 4, 3, 0, 5, 4, 3, 3]);
    // Products at different levels are rescaled before they are added.
    assert!(!highest.node(NodeId(7)).rescale_due);
}

#[test]
fn rescaling_can_follow_rotations_of_products() {
    let program = program(8, |b| {
        let x = b.input("x")?;
        let square = b.square(x)?;
        let rotated = b.rotate(square, 1)?;
        let sum = b.add(square, rotated)?;
        b.square(sum)
    });
    let due = |rescaling| {
        let rules = PlanRules { rescaling, ..rules(LevelPolicy::Lowest, 3) };
        let plan = Plan::new(&program, &chain(3), &rules).expect("a plan");
        [1, 2, 3].map(|node| plan.node(NodeId(node)).rescale_due)
    };
    assert_eq!(due(Rescaling::Waterline), [true, false, false]);
    assert_eq!(due(Rescaling::AfterRotations), [true, true, true]);
    assert_eq!(due(Rescaling::Eager), [false, false, false]);
}

#[test]
fn scaled_factors_use_no_level() {
    let program = program(8, |b| {
        let (x, c) = (b.input("x")?, b.constant(Values::real(&[0.3]))?);
        let scaled = b.mul_plain_scaled(x, c, 10)?;
        b.mul_plain_scaled(scaled, c, 10)
    });
    let plan = Plan::new(&program, &chain(3), &rules(LevelPolicy::Lowest, 3)).expect("a plan");
    assert_eq!(plan.start(&program), 0);
    let text = program.to_string();
    assert!(text.contains("mul_plain_scaled %0, %1 bits 10"), "{text}");
    assert_eq!(polyfabric_program::rns::text::parse_program(&text).expect("it reads back"), program);
    let mut builder = Builder::new("test", Scheme::Bgv { plaintext_modulus: 65537 }, 8).expect("a program");
    let (x, c) = (builder.input("x").expect("x"), builder.constant(Values::Integer([3].into())).expect("c"));
    assert!(builder.mul_plain_scaled(x, c, 3).expect_err("BGV has no scale").to_string().contains("use mul_plain"));
}

#[test]
fn dead_nodes_need_no_level() {
    let program = program(8, |b| {
        let x = b.input("x")?;
        let square = b.square(x)?;
        b.square(square)?;
        b.neg(x)
    });
    let plan = Plan::new(&program, &chain(2), &rules(LevelPolicy::Lowest, 2)).expect("a plan");
    assert_eq!(plan.start(&program), 0);
    assert!(!plan.node(NodeId(1)).live && plan.node(NodeId(3)).live);
}

#[test]
fn overrides_are_honoured() {
    let program = program(8, |b| {
        let x = b.input_with("x", Some(3), 1.0)?;
        let square = b.square(x)?;
        let rescaled = b.rescale(square)?;
        let low = b.mod_switch(rescaled, 1)?;
        b.square(low)
    });
    let plan = Plan::new(&program, &chain(4), &rules(LevelPolicy::Lowest, 4)).expect("a plan");
    let levels: Vec<usize> = program.iter().map(|(id, _)| plan.node(id).level).collect();
    assert_eq!(levels, [3, 1, 1, 1, 0, 0]);
}

#[test]
fn too_deep_programs_are_rejected_at_the_first_failing_node() {
    let program = program(8, |b| {
        let x = b.input("x")?;
        let mut power = x;
        for line in 1..7 {
            b.at(at(line));
            power = b.mul(power, x)?;
        }
        Ok(power)
    });
    let error = Plan::new(&program, &chain(3), &rules(LevelPolicy::Lowest, 3)).expect_err("too deep");
    assert_eq!(
        error.to_string(),
        "model.py:4: mul %4 uses 1 level(s), but its operand %3 is at level 0, after the inputs' 3; take parameters with at least 3 more level(s), or with bootstrapping"
    );
}

#[test]
fn impossible_levels_are_refused() {
    let chain = chain(3);
    let refused = |program: &Program| {
        Plan::new(program, &chain, &rules(LevelPolicy::Lowest, 3)).expect_err("refused").to_string()
    };
    let high = program(8, |b| b.at(at(1)).input_with("x", Some(7), 1.0));
    assert_eq!(
        refused(&high),
        "model.py:1: input %0 requests level 7, but only level 3 is available; request a lower level, or bootstrap before"
    );
    let raised = program(8, |b| {
        let x = b.input_with("x", Some(1), 1.0)?;
        b.at(at(2)).mod_switch(x, 2)
    });
    assert_eq!(
        refused(&raised),
        "model.py:2: mod_switch %1 requests level 2, but only level 1 is available; request a lower level, or bootstrap before"
    );
    let bootstrapped = program(8, |b| {
        let x = b.input("x")?;
        b.at(at(3)).bootstrap(x)
    });
    assert_eq!(
        refused(&bootstrapped),
        "model.py:3: bootstrap %1: the parameters have no bootstrapping; choose a set that has"
    );
    let wide = program(1024, |b| b.input("x"));
    assert_eq!(
        refused(&wide),
        "the program \"test\" has vectors of 1024 slots, but ring degree 1024 gives 512 with ckks; use a ring degree of at least 2048, or split the vectors"
    );
    let mut builder = Builder::new("test", Scheme::Bgv { plaintext_modulus: 65537 }, 8).expect("a program");
    let x = builder.input("x").expect("an input");
    builder.output("y", x).expect("an output");
    let bgv = builder.finish().expect("a program");
    assert_eq!(
        refused(&bgv),
        "the program \"test\" is written for bgv(65537), the parameters are for ckks; use parameters of bgv(65537)"
    );
}

#[test]
fn scales_of_all_levels_fit_together() {
    let chain = chain(12);
    for level in 1..=12 {
        let scale = chain.scale(level);
        let product = chain.divided(chain.product(scale, scale), &chain.dropped(level));
        assert!(
            chain.alike(product, chain.scale(level - 1)),
            "level {level}: {product} is not {}",
            chain.scale(level - 1)
        );
        // Deviations do not grow: 40-bit primes for N = 2^10 are within 2^-20 of 2^40.
        assert!((scale.real().log2() - 40.0).abs() < 1e-3, "level {level}: {scale}");
    }
    assert_eq!(chain.scale(0), Scale::Real(40f64.exp2()));
}
