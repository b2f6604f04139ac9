"""The price of a parcel, by encrypted zone and weight."""

import polyfabric as pf

ZONES = [3, 5, 9, 14, 20, 31, 45, 60]


@pf.program(zone=pf.Int(0, 7), kilograms=pf.Int(0, 255))
def program(zone, kilograms):
    return pf.lookup(zone, ZONES) + 2 * kilograms


GIVEN = {"zone": 5, "kilograms": 200}


def clear(zone, kilograms):
    return ZONES[zone] + 2 * kilograms
