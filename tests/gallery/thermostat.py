"""One step of a PID controller, whose integral stops at its ends."""

from decimal import ROUND_HALF_EVEN, Decimal

import polyfabric as pf

DEGREES = pf.Fixed(16, 8, rounding="nearest", overflow="saturate")


@pf.program(target=DEGREES, measured=DEGREES, last=DEGREES, integral=DEGREES)
def program(target, measured, last, integral):
    error = target - measured
    integral = pf.min(pf.max(integral + error * 0.25, -20), 20)
    power = error * 1.6 + integral * 0.35 + (error - last) * 2
    return {"power": pf.max(power, 0), "error": error, "integral": integral}


GIVEN = {"target": 21.5, "measured": 17.3, "last": 4.75, "integral": 19.4}


def clear(target, measured, last, integral):
    def fit(value):
        steps = (value * 256).quantize(Decimal(1), ROUND_HALF_EVEN)
        return min(max(steps, -(2**15)), 2**15 - 1) / 256

    target, measured, last, integral, fast, slow = (
        fit(Decimal(number)) for number in (target, measured, last, integral, 1.6, 0.35)
    )
    error = fit(target - measured)
    integral = min(max(fit(integral + fit(error / 4)), -20), 20)
    power = fit(fit(fit(error * fast) + fit(integral * slow)) + fit(fit(error - last) * 2))
    return {"power": float(max(power, 0)), "error": float(error), "integral": float(integral)}
