"""May this user do what is asked? Permissions are bits."""

import polyfabric as pf


@pf.program(granted=pf.UInt(8), asked=pf.UInt(8))
def program(granted, asked):
    missing = asked & ~granted
    return {"allowed": missing == 0, "missing": missing.bit_count()}


GIVEN = {"granted": 0b1010_0110, "asked": 0b0110_0010}


def clear(granted, asked):
    missing = asked & ~granted
    return {"allowed": int(missing == 0), "missing": missing.bit_count()}
