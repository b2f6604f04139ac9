"""A message is sorted by its beginning and contents."""

import polyfabric as pf


@pf.program(message=pf.Text(12))
def program(message):
    return {"urgent": message.startswith("!!"), "spam": message.contains("win") | message.contains("$$")}


GIVEN = {"message": "you win $5"}


def clear(message):
    return {"urgent": int(message.startswith("!!")), "spam": int("win" in message or "$$" in message)}
