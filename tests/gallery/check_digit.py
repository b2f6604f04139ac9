"""Luhn's check of an account number."""

import polyfabric as pf


@pf.program(digits=pf.Int(0, 9).vector(8))
def program(digits):
    doubled = pf.lookup(digits[::2], lambda d: 2 * d // 10 + 2 * d % 10)
    total = pf.sum(doubled) + pf.sum(digits[1::2])
    return total % 10 == 0


GIVEN = {"digits": [7, 9, 9, 2, 7, 3, 9, 8]}


def clear(digits):
    doubled = [sum(divmod(2 * d, 10)) for d in digits[::2]]
    return int((sum(doubled) + sum(digits[1::2])) % 10 == 0)
