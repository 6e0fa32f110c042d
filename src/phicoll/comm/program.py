"""The program that a launcher starts as ranks: a script, a module, code, or any executable."""

from __future__ import annotations

import builtins
import contextlib
import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from phicoll.errors import ArgumentError

__all__ = ["Program"]


@dataclass
class Program:
    """A program and its arguments. ``name`` is what ``kind`` says: a ``module``, ``code``, or a ``program``'s path."""

    kind: str
    name: str
    arguments: list[str]

    def command(self) -> list[str]:
        """The command line of a process that runs it: this interpreter, unless it is an executable.

        ArgumentError if it is a script that cannot be read.
        """
        if self.kind != "program":
            return [sys.executable, f"-{self.kind[0]}", self.name, *self.arguments]
        script = self.is_script()
        if script and not os.access(self.name, os.R_OK):
            raise ArgumentError("program", repr(self.name), "a Python script that can be read")
        return [*([sys.executable] if script else []), self.name, *self.arguments]

    def is_script(self) -> bool:
        """Whether a program is a Python script, to be run by this interpreter.

        ArgumentError if it is another executable in the current folder, which is not searched.
        """
        file = Path(self.name)
        if self.name.endswith(".py") or (file.is_file() and not os.access(file, os.X_OK)):
            return True
        if os.sep in self.name or not file.is_file() or shutil.which(self.name) is not None:
            return False
        with contextlib.suppress(OSError), file.open("rb") as opened:
            first = opened.readline(256)
            if first.startswith(b"#!") and b"python" in first:
                return True
        raise ArgumentError(
            "program", f"{self.name!r}, which is not on the PATH", f"./{self.name}, the current folder's"
        )

    def loaded(self) -> tuple[CodeType, dict[str, Any]]:
        """Its code and the variables that it begins with, to be run in this interpreter.

        Sets ``sys.argv`` and the first folder of ``sys.path`` as Python does. ArgumentError if it is not Python.
        """
        variables: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
        script = Path(self.name) if self.kind == "program" else None
        sys.path.insert(0, str(script.resolve().parent if script else Path.cwd()))
        try:
            if script:
                path = variables["__file__"] = self.name
                code = compile(script.read_bytes(), path, "exec")
            elif self.kind == "module":
                code, spec = module(self.name)
                path = code.co_filename
                variables.update(__file__=path, __spec__=spec, __package__=spec.parent)
            else:
                path = "-c"
                code = compile(self.name, "<string>", "exec")
        except (OSError, SyntaxError, ValueError, ImportError) as error:
            allowed = {"program": "a Python script", "module": "a module's name", "code": "Python"}[self.kind]
            raise ArgumentError(self.kind, repr(self.name), f"{allowed} ({error})") from error
        sys.argv[:] = [path, *self.arguments]
        return code, variables


def module(name: str) -> tuple[CodeType, Any]:
    """The code of a module, or of a package's ``__main__``, and its spec."""
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    code = getattr(spec.loader, "get_code", lambda _: None)(spec.name) if spec is not None else None
    if spec is None or code is None:
        raise ImportError(f"no module named {name} that can be run")
    return code, spec
