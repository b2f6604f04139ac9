"""Help texts: options under headings, examples, and lists of commands with whole sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click


class Grouped(click.Command):
    """A command whose help lists its options under headings, with examples."""

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 - click's own
        headings: Mapping[str, Sequence[str]],
        examples: Sequence[str],
        **more: Any,  # noqa: ANN401 - click's own
    ) -> None:
        super().__init__(*arguments, **more)
        self.headings, self.examples = headings, examples
        """Names of the parameters under each heading; the others are under "Other options"."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options under their headings, then the examples."""
        left = {option.name: option for option in self.get_params(ctx) if isinstance(option, click.Option)}
        for heading, names in self.headings.items():
            records = [left.pop(name).get_help_record(ctx) for name in names]
            with formatter.section(heading):
                formatter.write_dl([record for record in records if record])
        with formatter.section("Other options"):
            formatter.write_dl([record for option in left.values() if (record := option.get_help_record(ctx))])
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


def first_sentence(text: str) -> str:
    """The first sentence of a help text."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return paragraph.split(". ")[0].rstrip(".") + "."
