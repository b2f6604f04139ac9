"""Rock, paper, scissors."""

import polyfabric as pf

NAMES = ("draw", "first", "second")


@pf.program(a=pf.Int(0, 2), b=pf.Int(0, 2))
def program(a, b):
    return pf.lookup(a - b, lambda difference: difference % 3)


GIVEN = {"a": 0, "b": 1}


def clear(a, b):
    # Paper beats rock, scissors beat paper, rock beats scissors.
    beats = {(1, 0), (2, 1), (0, 2)}
    return NAMES.index("first" if (a, b) in beats else "second" if (b, a) in beats else "draw")
