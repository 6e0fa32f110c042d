"""The error of a system that is measured on command."""

from __future__ import annotations


class PeerError(RuntimeError):
    """The system is not installed, or its job died, did not answer in time, or refused a command."""


class PeerTimeoutError(PeerError):
    """No answer in time: the job has been killed."""
