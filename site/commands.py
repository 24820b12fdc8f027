"""Pages and manual pages of the commands, from their Typer definitions.

``python site/commands.py FOLDER`` writes the manual pages.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from slowstart._version import __version__
from slowstart.commands.cli import FIRST, program

if TYPE_CHECKING:
    from collections.abc import Iterator


def commands() -> Iterator[tuple[str, Any]]:
    """Each command with its full name, subcommands included."""
    for name, command in typer.main.get_command(program()).commands.items():  # type: ignore[attr-defined]
        yield name, command
        for each, found in getattr(command, "commands", {}).items():
            yield f"{name} {each}", found


def names(parameter: Any) -> str:
    """How an argument or an option is written."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    words = ", ".join([*parameter.opts, *parameter.secondary_opts])
    if parameter.is_flag:
        return words
    return f"{words} {parameter.metavar or choices(parameter)}"


def choices(parameter: Any) -> str:
    """The values of a parameter that has a choice."""
    values = getattr(parameter.type_descriptor.annotation, "__members__", {}).values()
    return "|".join(str(each.value) for each in values) or "VALUE"


def meaning(parameter: Any) -> str:
    """The help of a parameter, with its default."""
    text = parameter.help or ""
    shown = parameter.show_default and not getattr(parameter, "is_flag", False)
    if shown and parameter.default not in (None, ()) and "[default" not in text:
        text = f"{text} [default: {getattr(parameter.default, 'value', parameter.default)}]"
    return " ".join(text.split())


def usage(name: str, command: Any) -> str:
    """The line of a command."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    return " ".join(["slowstart", name, "[OPTIONS]", *(names(each) for each in arguments)])


def options(command: Any) -> list[Any]:
    """The parameters that have a help."""
    return [each for each in command.params if each.help and not getattr(each, "hidden", False)]


def epilog(command: Any) -> list[tuple[bool, str]]:
    """The paragraphs below the help: whether a paragraph is of commands, and its lines."""
    found = []
    for part in (command.epilog or "").replace("\b", "").strip().split("\n\n"):
        lines = part.strip("\n").splitlines()
        if lines and lines[0].strip() == "Examples:":
            found.append((True, "\n".join(line[2:] for line in lines[1:])))
        elif lines:
            found.append((False, "\n".join(lines)))
    return found


def page(name: str, command: Any) -> str:
    """A page in Markdown."""
    cell = str.maketrans({"|": r"\|", "<": "&lt;", "*": r"\*", "_": r"\_"})
    text = f"# slowstart {name}\n\n{' '.join((command.help or '').split())}\n\n"
    text += f"```\n{usage(name, command)}\n```\n\n"
    parts = epilog(command)
    for _, lines in [part for part in parts if part[0]]:
        text += f"## Examples\n\n```sh\n{lines}\n```\n\n"
    text += "## Options\n\n| | |\n| --- | --- |\n"
    for each in options(command):
        written = names(each).replace("|", r"\|")
        text += f"| `{written}` | {meaning(each).translate(cell)} |\n"
    for _, lines in [part for part in parts if not part[0]]:
        text += f"\n```text\n{lines}\n```\n"
    return text


def roff(text: str) -> str:
    """Text in which troff finds no request and no escape."""
    return re.sub(r"(?m)^([.'])", r"\\&\1", text.replace("\\", r"\e").replace("-", r"\-"))


def manual(name: str, command: Any) -> str:
    """A manual page."""
    title = f"slowstart-{name.replace(' ', '-')}"
    head = " ".join((command.help or "").split())
    text = f'.TH "{title.upper()}" 1 "" "slowstart {__version__}" "slowstart"\n'
    text += f".SH NAME\n{roff(title)} \\- {roff(head.rstrip('.'))}\n"
    text += f".SH SYNOPSIS\n.B {roff(usage(name, command))}\n.SH OPTIONS\n"
    for each in options(command):
        text += f".TP\n.B {roff(names(each))}\n{roff(meaning(each))}\n"
    for is_commands, lines in epilog(command):
        text += f".SH {'EXAMPLES' if is_commands else 'NOTES'}\n.nf\n{roff(lines)}\n.fi\n"
    return text


def overview(listed: list[tuple[str, Any]]) -> str:
    """The manual page of the program."""
    text = f'.TH "SLOWSTART" 1 "" "slowstart {__version__}" "slowstart"\n'
    text += (
        ".SH NAME\nslowstart \\- compare how transport start\\-ups find the capacity of a path\n"
    )
    text += ".SH SYNOPSIS\n.B slowstart COMMAND [OPTIONS] ...\n.SH DESCRIPTION\n"
    text += f".nf\n{roff(FIRST)}.fi\n.SH COMMANDS\n"
    for name, command in listed:
        head = " ".join((command.help or "").split())
        text += f".TP\n.BR slowstart\\-{roff(name.replace(' ', '-'))} (1)\n{roff(head)}\n"
    return text


def write(folder: Path) -> int:
    """Writes all manual pages, and returns their number."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = list(commands())
    (folder / "slowstart.1").write_text(overview(listed))
    for name, command in listed:
        (folder / f"slowstart-{name.replace(' ', '-')}.1").write_text(manual(name, command))
    return len(listed) + 1


if __name__ == "__main__":
    print(f"{write(Path(sys.argv[1]))} manual pages in {sys.argv[1]}")
