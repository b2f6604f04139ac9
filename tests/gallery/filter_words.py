"""A message is sorted by what it starts with and what it contains, without being read."""

import polyfabric as pf


@pf.program(message=pf.Text(12))
def program(message):
    return {"urgent": message.startswith("!!"), "spam": message.contains("win") | message.contains("$$")}


GIVEN = {"message": "you win $5"}


def clear(message):
    return {"urgent": int(message.startswith("!!")), "spam": int("win" in message or "$$" in message)}
