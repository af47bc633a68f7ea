"""How commands end: exit codes, and one line for what went wrong."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from halfbyte.cli.help import sections_after
from halfbyte.cli.screen import print_error
from halfbyte.errors import HalfbyteError

__all__ = ["DEBUG_KEY", "EXIT_CODES", "FAILED", "FOUND", "Commands"]

FOUND = 1
FAILED = 3
_BUG = 70
_INTERRUPTED = 130
_BROKEN_PIPE = 141

EXIT_CODES = {
    0: "all is well",
    FOUND: "done, but files were refused (convert) or are damaged (verify, extract)",
    2: "the command line is wrong",
    FAILED: "it could not be done; a line on stderr says why",
    _BUG: "a bug in halfbyte; please report the traceback",
    _INTERRUPTED: "interrupted by Ctrl-C",
}

DEBUG_KEY = "halfbyte.debug"
_TRACEBACK_VARIABLE = "HALFBYTE_TRACEBACK"

_AFTER_INTERRUPT = {
    "convert": "what is converted stays; the same command goes on from there",
    "extract": "what was written is removed",
    "demo": "its temporary folder is removed",
}


class Commands(TyperGroup):
    """The commands, with the end of each in one place."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        formatter.write(sections_after("halfbyte"))

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            sys.stderr.write(f"interrupted{_after_interrupt(ctx.invoked_subcommand)}\n")
            raise typer.Exit(_INTERRUPTED) from None
        except BrokenPipeError:
            # Whoever read our output has seen enough; nothing may be flushed into the pipe at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(_BROKEN_PIPE) from None
        except (HalfbyteError, OSError) as error:
            if ctx.meta.get(DEBUG_KEY) or os.environ.get(_TRACEBACK_VARIABLE):
                traceback.print_exc()
            print_error(_describe(error))
            raise typer.Exit(FAILED) from None
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            if _is_usage_error(error):
                raise
            traceback.print_exc()
            print_error(
                f"this is a bug in halfbyte ({type(error).__name__}): please report it with the lines above"
            )
            raise typer.Exit(_BUG) from None
        return result


def _after_interrupt(command: str | None) -> str:
    return f"; {_AFTER_INTERRUPT[command]}" if command in _AFTER_INTERRUPT else ""


def _describe(error: HalfbyteError | OSError) -> str:
    """Ours say all that is needed; those of the system come as number, text and file."""
    if isinstance(error, HalfbyteError) or not error.strerror:
        return str(error) or type(error).__name__
    where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return f"{where}{error.strerror}"


def _is_usage_error(error: Exception) -> bool:
    """Whether typer itself reports it: its base class has moved between releases, its method has not."""
    return hasattr(error, "exit_code") and hasattr(error, "format_message")
