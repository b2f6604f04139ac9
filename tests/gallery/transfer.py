"""A transfer between two accounts, refused if the balance does not cover it."""

import polyfabric as pf


@pf.program(source=pf.UInt(24), target=pf.UInt(24), amount=pf.UInt(24))
def program(source, target, amount):
    left, short = source.checked_sub(amount)
    return {
        "source": pf.where(short, source, left),
        "target": pf.where(short, target, target + amount),
        "refused": short,
    }


GIVEN = {"source": 1_000_000, "target": 5, "amount": 1_000_001}


def clear(source, target, amount):
    if amount > source:
        return {"source": source, "target": target, "refused": 1}
    return {"source": source - amount, "target": target + amount, "refused": 0}
