"""What a system that is measured at command may fail with."""

from __future__ import annotations


class PeerError(RuntimeError):
    """The system is not there, or its job died, did not answer in time, or refused a command."""


class PeerTimeoutError(PeerError):
    """No answer in time: the job has been killed."""
