"""Diagrams of ideas: the system, the keys, the choice of a scheme, a ciphertext's noise, levels."""

from __future__ import annotations

from polyfabric.reports.drawing import Drawing

from .machine_diagrams import NAMES


def system() -> Drawing:
    """From a Python function to a decrypted result."""
    d = Drawing(860, 330, "A Python function runs on encrypted data on a CPU, a GPU or a simulated accelerator")
    d.box(20, 130, 150, 70, "Python function\nintegers, reals, text", kind="a")
    d.box(215, 130, 130, 70, "lowering\nparameters, graph")
    d.arrow([(170, 165), (215, 165)])
    d.box(420, 20, 190, 50, "CPU\nAVX-512, AVX2, NEON", kind="c")
    d.box(420, 90, 190, 50, "GPU\nNVIDIA", kind="c")
    d.box(
        420,
        160,
        190,
        100,
        f"five accelerators\nsimulated bit by bit\n{', '.join(NAMES[:3])}\n{', '.join(NAMES[3:])}",
        kind="b",
    )
    for y in (45, 115, 210):
        d.arrow([(345, 165), (382, 165), (382, y), (420, y)])
        d.arrow([(610, y), (650, y), (650, 165), (690, 165)])
    d.box(690, 130, 150, 70, "decrypted result\nonly for the key holder", kind="a")
    d.arrow([(515, 260), (515, 285)])
    d.text(515, 303, "cycles, stalls, energy and area of the executed schedule", size=12)
    d.text(95, 222, "inputs encrypted", size=12, kind="faint")
    d.text(95, 238, "with your key", size=12, kind="faint")
    d.text(765, 222, "compared with the", size=12, kind="faint")
    d.text(765, 238, "unencrypted function", size=12, kind="faint")
    return d


def keys() -> Drawing:
    """Who holds which key, and who sees what."""
    d = Drawing(860, 350, "The client holds the secret key; the server sees only ciphertexts and evaluation keys")
    d.box(20, 40, 310, 290, kind="a")
    d.text(175, 68, "client: sees all values", bold=True, size=15)
    d.box(530, 40, 310, 290, kind="b")
    d.text(685, 68, "server: sees no value", bold=True, size=15)
    d.box(45, 90, 260, 44, "secret key\nencrypts and decrypts; never leaves")
    d.box(45, 160, 260, 44, "inputs\nencrypted here")
    d.box(45, 266, 260, 44, "result\ndecrypted here")
    d.box(555, 90, 260, 44, "evaluation key\ncomputes; decrypts nothing")
    d.box(555, 160, 260, 44, "encrypted inputs")
    d.box(555, 212, 260, 44, "program\non ciphertexts only")
    d.box(555, 266, 260, 44, "encrypted result")
    d.arrow([(305, 112), (555, 112)], "evaluation key, once")
    d.arrow([(305, 182), (555, 182)], "ciphertexts, each request")
    d.arrow([(555, 288), (305, 288)], "ciphertexts")
    d.text(430, 240, "the network sees", size=12, kind="faint")
    d.text(430, 256, "ciphertexts and sizes", size=12, kind="faint")
    return d


def scheme() -> Drawing:
    """Which type of value, and so which scheme, a program takes."""
    d = Drawing(860, 470, "Decision tree: which scheme for which program")
    questions = [
        (
            20,
            "Comparisons, tables, text,\nbits, or branches?",
            ("TFHE", "pf.Int, pf.UInt, pf.Text, pf.Bool\nexact; one value a ciphertext", "c"),
        ),
        (
            170,
            "Real numbers, where an\nerror of 10^-6 is no harm?",
            ("CKKS", "pf.Real, pf.Complex\napproximate; thousands of values a ciphertext", "a"),
        ),
        (
            320,
            "Exact sums and products\nmodulo a number?",
            ("BGV", "pf.Mod\nexact; thousands of values a ciphertext", "b"),
        ),
    ]
    for y, question, (name, text, kind) in questions:
        d.box(40, y, 270, 84)
        for index, line in enumerate(question.split("\n")):
            d.text(175, y + 38 + 20 * index, line, size=15, bold=True)
        d.arrow([(310, y + 42), (420, y + 42)], "yes")
        d.box(420, y, 400, 84, f"{name}\n{text}", kind=kind)
        if y < 320:
            d.arrow([(175, y + 84), (175, y + 150)], "no")
    d.arrow([(175, 404), (175, 440)], "no")
    d.text(40, 458, "split the program: one scheme for each part", size=13, anchor="start")
    return d


def ciphertext() -> Drawing:
    """The parts of an encrypted number, and its noise before and after operations."""
    d = Drawing(860, 310, "Noise grows with every operation; bootstrapping makes it small again")
    states = [("fresh", 60), ("after sums", 150), ("after more sums", 215), ("bootstrapped", 90)]
    d.text(430, 26, "the bits of one encrypted number", size=13, bold=True)
    for index, (name, noise) in enumerate(states):
        y = 44 + 56 * index
        d.text(150, y + 21, name, size=14, anchor="end", bold=True)
        d.bar(170, y, 180, 32, "a")
        d.bar(350, y, 470 - noise, 32, "band")
        d.bar(820 - noise, y, noise, 32, "e")
    d.text(260, 65, "message", size=13, bold=True, kind="paper")
    d.text(555, 65, "margin", size=13)
    d.text(790, 65, "noise", size=13, bold=True, kind="paper")
    d.rule(350, 38, 350, 250, dashed=True)
    d.text(350, 270, "noise that crosses this line changes the message:", size=12, anchor="middle")
    d.text(350, 288, "a set of parameters makes this as improbable as asked", size=12, anchor="middle")
    d.arrow([(836, 172), (846, 172), (846, 228), (830, 228)])
    return d


def lookup() -> Drawing:
    """A programmable bootstrap: a table is applied while noise is removed."""
    d = Drawing(860, 190, "A programmable bootstrap applies a table and refreshes the noise")
    d.box(30, 60, 180, 70, "encrypted x\nmuch noise", kind="e")
    d.box(330, 60, 200, 70, "bootstrap\nwith a table of f", kind="b")
    d.box(650, 60, 180, 70, "encrypted f(x)\nlittle noise", kind="c")
    d.arrow([(210, 95), (330, 95)])
    d.arrow([(530, 95), (650, 95)])
    for index, (x, fx) in enumerate([("0", "f(0)"), ("1", "f(1)"), ("2", "f(2)"), ("..", "..")]):
        left = 338 + 46 * index
        d.box(left, 136, 44, 34)
        d.text(left + 22, 150, x, size=10, kind="faint")
        d.text(left + 22, 164, fx, size=11)
    d.text(430, 40, "needs the evaluation key", size=12, kind="faint")
    return d


def levels() -> Drawing:
    """Slots of a ciphertext, and the levels that products use up."""
    d = Drawing(860, 262, "A CKKS or BGV ciphertext has slots and levels")
    d.text(215, 28, "slots: one operation on all values", size=14, bold=True)
    for row, (name, cells) in enumerate(
        [
            ("x", ["x0", "x1", "x2", "..", "xn"]),
            ("y", ["y0", "y1", "y2", "..", "yn"]),
            ("x * y", ["x0 y0", "x1 y1", "x2 y2", "..", "xn yn"]),
        ]
    ):
        y = 48 + 66 * row
        d.text(66, y + 24, name, size=14, anchor="end", bold=True)
        for index, cell in enumerate(cells):
            d.box(78 + 64 * index, y, 60, 38, kind="a" if row < 2 else "c")
            d.text(108 + 64 * index, y + 24, cell, size=13)
    d.text(236, 240, "rotations move values between slots", size=12, kind="faint")
    d.text(650, 28, "levels: each product uses one", size=14, bold=True)
    for index in range(4):
        left, y = 480 + 88 * index, 60 + 34 * index
        d.bar(left, y, 76, 34 * (4 - index), "b")
        d.text(left + 38, y + 22, f"level {3 - index}", size=12, kind="paper")
    d.arrow([(830, 196), (846, 196), (846, 44), (518, 44), (518, 58)])
    d.text(650, 222, "bootstrapping returns to the top", size=12)
    d.text(650, 240, "without it, a program has as many products in a row as levels", size=12, kind="faint")
    return d
