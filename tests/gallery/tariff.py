"""What a parcel costs, by encrypted zone and weight."""

import polyfabric as pf

ZONES = [3, 5, 9, 14, 20, 31, 45, 60]


@pf.program(zone=pf.UInt(3), kilograms=pf.UInt(8))
def program(zone, kilograms):
    base = pf.Table(ZONES, pf.UInt(12))[zone]
    return base + kilograms.cast(pf.UInt(12)) * 2


GIVEN = {"zone": 5, "kilograms": 200}


def clear(zone, kilograms):
    return {"result": ZONES[zone] + 2 * kilograms}
