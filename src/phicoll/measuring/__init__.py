"""Sweeps on this machine and on simulated ones, and the doctor, which says whether this machine is fit for them."""

from phicoll.measuring.sweeps import DEFINITIONS, MAX_RANKS, MODES, Plan, measure, plan, sweep

__all__ = ["DEFINITIONS", "MAX_RANKS", "MODES", "Plan", "measure", "plan", "sweep"]
