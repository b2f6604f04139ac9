"""Record the documentation's results, draw its tables, and run its commands.

python scripts/document.py record NAME [--from FILE] [--runs N] -- COMMAND ..    run a command and store its data in results/NAME.json
python scripts/document.py tables [--check]                           draw every table of README and docs from results/
python scripts/document.py pictures [--check]                         draw every picture of docs/pictures/ from results/ and machines/
python scripts/document.py words                                      count the words of the site's pages
python scripts/document.py commands [--list] [TEXT ..]                run every command that README and docs show
python scripts/document.py full                                       results that take little time, and all but the longest commands: `make test-full`
python scripts/document.py records                                    all results and commands: `make records`
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from documentation import commands, jobs, pictures, results, tables, words


def main() -> int:
    """Run the command line; the exit status is not 0 if a page differs from its results or a command fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    does = parser.add_subparsers(dest="does", required=True)
    record = does.add_parser("record", help="run a command and store its data in results/NAME.json")
    record.add_argument("name", help="name of the result; the command follows after --")
    record.add_argument("--from", dest="file", type=Path, help="the file that the command writes; default: its output")
    record.add_argument("--runs", type=int, default=1, help="how often to run it; tables show medians and the range")
    draw = does.add_parser("tables", help="draw every table of README and docs from results/")
    draw.add_argument("--check", action="store_true", help="change nothing; fail if a page differs from its results")
    picture = does.add_parser("pictures", help="draw every picture of docs/pictures/ from results/ and machines/")
    picture.add_argument("--check", action="store_true", help="change nothing; fail if a picture differs from its data")
    does.add_parser("words", help="count the words of the site's pages")
    run = does.add_parser("commands", help="run every command that README and docs show")
    run.add_argument("--list", action="store_true", help="only print the commands with their places")
    run.add_argument("texts", nargs="*", help="only commands that contain one of these")
    for name, what in (
        ("full", "results that take little time, and all but the longest commands"),
        ("records", "all results and commands"),
    ):
        full = does.add_parser(name, help=what)
        full.add_argument(
            "--keep", action="store_true", help="keep results of this commit instead of making them again"
        )
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = parser.parse_args(sys.argv[1:split])
    if given.does == "record":
        results.record(given.name, sys.argv[split + 1 :], given.file, given.runs)
        return 0
    if given.does == "tables":
        return tables.main(check=given.check)
    if given.does == "pictures":
        return pictures.main(check=given.check)
    if given.does == "words":
        print(words.summary())
        return 0
    if given.does == "commands":
        return commands.main(given.texts, only_list=given.list)
    short = given.does == "full"
    runs = commands.Runs(short=short)
    done = jobs.run([*results.jobs(keep=given.keep, short=short), *commands.jobs([], runs)])
    drawn = tables.main(check=False) or pictures.main(check=False)
    print(commands.summary(runs))
    return max(done, drawn)


if __name__ == "__main__":
    sys.exit(main())
