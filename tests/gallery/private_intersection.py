"""Which of eight encrypted numbers are in a public set?"""

import numpy as np
import polyfabric as pf

T = 65537
KNOWN = [11, 222, 3333]


@pf.program(numbers=pf.Mod(T).vector(8))
def program(numbers):
    product = numbers - KNOWN[0]
    for known in KNOWN[1:]:
        product = product * (numbers - known)
    return product


GIVEN = {"numbers": [1, 11, 5, 3333, 222, 9, 10, 12]}


def clear(numbers):
    residues = [int(np.prod([n - known for known in KNOWN])) % T for n in numbers]
    return [r - T if r > T // 2 else r for r in residues]
