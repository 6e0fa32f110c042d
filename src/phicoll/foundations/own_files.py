"""Whether a file can be another user's, which must not run in this user's programs. ``own_file.cpp`` does the same."""

from __future__ import annotations

import os
import stat

__all__ = ["foreign_reason", "make_own_folder"]

MOST_LINKS = 40


def foreign_reason(path: str) -> str:
    """Why a file may hold what another user put there: "'/home/a/.cache' belongs to user 1001"; "" if it cannot.

    The file and its folder belong to the effective user, and nobody else may write them. The folders above, and the
    links on the way, belong to that user or the system; nobody else may write those folders, except the owner's
    private group, and except in folders such as /tmp where users can remove only their own files. If the file does
    not exist, the existing folders on its path decide. ``path`` is absolute.
    """
    # Where root is no user of the container, the system's files belong to the number that stands for all others.
    trusted = (os.geteuid(), 0, os.lstat("/").st_uid)
    at, links = "", 0
    parts = parts_of(path)
    try:
        while parts:
            part = parts.pop()
            if part == "..":
                at = at[: max(at.rfind("/"), 0)]
                continue
            following = f"{at}/{part}"
            try:
                facts = os.lstat(following)
            except FileNotFoundError:
                return "" if parts else not_own(at)
            if facts.st_uid not in trusted:
                return belongs(following, facts)
            if stat.S_ISLNK(facts.st_mode):
                links += 1
                if links > MOST_LINKS:
                    return f"'{following}' is one of more than {MOST_LINKS} links"
                target = os.readlink(following)  # noqa: PTH115
                at = "" if target.startswith("/") else at
                parts += parts_of(target)
                continue
            if not parts:
                return not_own(at) or not_own(following)
            others = stat.S_IWOTH | (0 if facts.st_gid == facts.st_uid else stat.S_IWGRP)
            if not facts.st_mode & stat.S_ISVTX and facts.st_mode & others:
                return f"others may write '{following}'"
            at = following
        return not_own(at)
    except OSError as error:
        return f"'{error.filename}': {error.strerror}"


def parts_of(path: str) -> list[str]:
    """What a path goes through, the first one last."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def belongs(path: str, facts: os.stat_result) -> str:
    return f"'{path}' belongs to user {facts.st_uid}"


def not_own(path: str) -> str:
    """Why a file or its folder is not this user's alone."""
    facts = os.lstat(path or "/")
    if facts.st_uid != os.geteuid():
        return belongs(path, facts)
    return f"others may write '{path}'" if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def make_own_folder(path: str) -> None:
    """Make a folder and those above it, which this user alone may write. Raises OSError if that is impossible."""
    if not os.path.isdir(path):  # noqa: PTH112
        make_own_folder(os.path.dirname(path))  # noqa: PTH120
        try:
            os.mkdir(path, 0o700)  # noqa: PTH102
        except FileExistsError:
            if not os.path.isdir(path):  # noqa: PTH112
                raise
