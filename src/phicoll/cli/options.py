"""Shared by several commands: options, and files written besides stdout."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from phicoll.errors import ArgumentError
from phicoll.foundations.arguments import Parser
from phicoll.foundations.files import check_writable
from phicoll.foundations.streams import say
from phicoll.measuring.options import OPTIONS, Option, simulated_default

__all__ = [
    "PICTURES",
    "Knobs",
    "add_executor",
    "add_foreign",
    "add_model",
    "add_option",
    "add_progress",
    "add_reduction",
    "add_simulated_option",
    "check_figure",
    "report_written",
]

#: The endings that a figure's name can have: a picture's, and a page's that answers the mouse.
PICTURES = (".png", ".svg", ".pdf")
FORMATS = (*PICTURES, ".html")


def add_executor(parser: argparse.ArgumentParser, words: str) -> None:
    parser.add_argument("--executor", metavar="WHERE", help=f"dask:ADDRESS or slurm[:nodes=N...]: {words}")


def add_foreign(parser: argparse.ArgumentParser, words: str) -> None:
    parser.add_argument("--foreign", choices=("refuse", "use"), help=words)


def add_model(parser: argparse.ArgumentParser, foreign: str) -> None:
    """Add ``--model``, and ``--foreign`` with these words."""
    parser.add_argument(
        "--model",
        metavar="M",
        help="the machine whose model predicts: a machine file or a name (default: that of --machine)",
    )
    add_foreign(parser, foreign)


def add_option(
    parser: argparse.ArgumentParser, argument: str, option: Option, default: str | None = None
) -> None:
    """Add an option by its row of the table. ``default`` is the command's own default instead of the row's."""
    names = [f"-{option.letter}"] * bool(option.letter) + [f"--{option.name}"]
    if option.kind == "flag":
        parser.add_argument(*names, dest=argument, action="store_true", help=option.meaning)
        return
    shown = option.default if default is None else default
    words = option.meaning + (f" (default: {shown})" if shown else "")
    parser.add_argument(
        *names, dest=argument, metavar=option.metavar, default=default, help=words.replace("%", "%%")
    )


def add_simulated_option(parser: argparse.ArgumentParser, argument: str) -> None:
    """Add an option that a simulated sweep has too. Integers and numbers are parsed."""
    option = OPTIONS[argument]
    kinds: dict[str, Callable[[str], Any]] = {"integer": int, "number": float}
    parser.add_argument(
        f"--{option.name}",
        dest=argument,
        metavar=option.metavar,
        type=kinds.get(option.kind, str),
        help=f"{option.help} (default: {simulated_default(argument)})",
    )


class Knobs(Parser):
    """Options that are seldom needed, which a command takes by ``--set NAME=VALUE``. They are added as to a
    parser, as ``--name``."""

    def __init__(self, command: argparse.ArgumentParser) -> None:
        super().__init__(prog=f"{command.prog} --set", add_help=False, allow_abbrev=False)
        self.command = command
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        command.add_argument(
            "--set",
            action=SetKnob,
            knobs=self,
            metavar="NAME=VALUE",
            help="a seldom needed setting (see below); may be repeated",
        )
        self.group = command.add_argument_group("what --set takes")

    def add_argument(self, *names: Any, **how: Any) -> argparse.Action:  # type: ignore[override]
        action = super().add_argument(*names, **how)
        self.command.set_defaults(**{action.dest: action.default})
        shown = action.option_strings[0].removeprefix("--")
        value = "" if action.nargs == 0 else f"={action.metavar or '|'.join(action.choices or ['VALUE'])}"
        line = textwrap.wrap(
            f"{shown}{value}  {action.help}".replace("%%", "%"), 100, subsequent_indent="    "
        )
        self.group.description = "\n".join([*filter(None, [self.group.description]), *line])
        return action


class SetKnob(argparse.Action):
    """``--set NAME=VALUE``."""

    def __init__(self, *, knobs: Knobs, **how: Any) -> None:
        super().__init__(**how, default=argparse.SUPPRESS)
        self.knobs = knobs

    @property
    def settings(self) -> list[str]:
        """All that may be set, each as ``--set NAME``."""
        return [f"--set {name.removeprefix('--')}" for name in self.knobs._option_string_actions]

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: Any = None,
    ) -> None:
        name, equals, value = str(values).partition("=")
        known = {
            text.removeprefix("--"): action for text, action in self.knobs._option_string_actions.items()
        }
        if name not in known:
            raise ArgumentError("set", repr(values), f"NAME=VALUE; names: {', '.join(known)}")
        if (known[name].nargs == 0) == bool(equals):
            raise ArgumentError("set", repr(values), name if equals else f"{name}=VALUE")
        self.knobs.parse_args([f"--{name}{equals}{value}"], namespace)


def add_progress(knobs: Knobs) -> None:
    """Add ``no-progress``. It sets ``progress`` to what the library takes."""
    knobs.add_argument(
        "--no-progress",
        dest="progress",
        action="store_const",
        const=False,
        help="show no progress bar on a terminal",
    )


def add_reduction(parser: argparse.ArgumentParser) -> None:
    for argument in ("type", "op"):
        add_option(parser, argument, OPTIONS[argument])


def check_figure(given: str, argument: str = "figure", formats: Sequence[str] = FORMATS) -> Path:
    """The path for a figure. Raises ArgumentError if its ending is not that of a format or it cannot be written,
    ResourceError without Matplotlib, or plotly for a page."""
    path = check_writable(Path(given), argument)
    if path.suffix not in formats:
        raise ArgumentError(argument, repr(given), "a name that ends in " + ", ".join(formats))
    # Without Matplotlib, or plotly for a page, it ends here and not once the work is done.
    if path.suffix == ".html":
        import phicoll.plots.live
    else:
        import phicoll.plots.canvas  # noqa: F401
    return path


def report_written(*paths: Any) -> None:
    for path in paths:
        say(f"wrote {path}")
