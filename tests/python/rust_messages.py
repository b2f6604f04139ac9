"""The texts in the sources of the Rust half that advise something, found by a rule; `test_native_remedies.py` holds that each is walked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CRATES = Path(__file__).resolve().parents[2] / "crates"
TESTS = re.compile(r"(^|/)(tests|benches|examples)/|(^|/)(tests|test_support)\.rs$|(^|/)build\.rs$")
LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(?P<marks>\#*)"(?P<raw>.*?)"(?P=marks)|"(?P<text>(?:[^"\\]|\\.)*)"|'(?:[^'\\\n]|\\[^\n]*?)'""",
    re.DOTALL,
)
CONTINUED = re.compile(r"\\\r?\n\s*")
PLACEHOLDER = re.compile(r"\{[^{}]*\}")

IMPERATIVES = (
    "accept add allow approximate ask attach begin bootstrap bring call cast change check choose compile compose correct cut declare delay "
    "demand divide draw encode encrypt end enlarge export extract fill free generate get give have install keep leave let look lower make map "
    "move multiply name narrow order pack pad place play plan put raise read reduce relinearise rename report return run scale select shorten "
    "specify split start store subtract take train transform try use wait widen write"
)
ADVICE = re.compile(
    # Behind what is wrong, or as a whole sentence or remedy; an option of the command line is advice wherever it stands.
    rf"(?:^|[;:.?] |, or |, so |[;:.] or )(?:{IMPERATIVES.replace(' ', '|')})\b|\binstead\b|\bIs this\b|(?<![\w-])--[a-z]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Text:
    """A text that advises something, and where it stands."""

    file: str
    """Below `crates`."""
    text: str

    def is_in(self, message: str) -> bool:
        """Whether a message is made of it: it has all that stands between the placeholders, in order."""
        at = 0
        for part in PLACEHOLDER.split(self.text.replace("{{", "\0").replace("}}", "\1")):
            found = message.find(part.replace("\0", "{").replace("\1", "}"), at)
            if found < 0:
                return False
            at = found + len(part)
        return True


def literals(source: str) -> list[str]:
    """The string literals of a source file as the compiler reads them, without those of its tests."""
    cut = source.find("#[cfg(test)]\nmod tests {")
    found = []
    for match in LITERAL.finditer(source if cut < 0 else source[:cut]):
        if match["raw"] is not None:
            found.append(match["raw"])
        elif match["text"] is not None:
            plain = CONTINUED.sub("", match["text"])
            found.append(plain.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\"))
    return found


def advising() -> list[Text]:
    """Every text of the Rust half that advises something."""
    files = [path for path in sorted(CRATES.rglob("*.rs")) if not TESTS.search(path.relative_to(CRATES).as_posix())]
    return [
        Text(path.relative_to(CRATES).as_posix(), text)
        for path in files
        for text in dict.fromkeys(literals(path.read_text(encoding="utf-8")))
        if " " in text and ADVICE.search(text)
    ]
