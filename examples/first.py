"""A fee by an encrypted risk class: on this computer, and on the accelerator Morphling."""

import polyfabric as pf

FEES = [0, 2, 3, 5, 8, 13, 21, 34]


@pf.program(risk=pf.Int(0, 7))
def fee(risk: pf.Value) -> pf.Value:
    """The fee of a risk class."""
    return pf.lookup(risk, FEES)


if __name__ == "__main__":
    print(fee.run(risk=5))
    chip = fee.run(risk=5, on="morphling", widths="derived")
    print(chip)
    print(f"{1000 * chip.simulation['seconds']:.2f} ms on the chip")
