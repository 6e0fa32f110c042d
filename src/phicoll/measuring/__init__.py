"""Measuring: sweeps on this machine and on simulated ones, and whether this machine is fit to be measured."""

from phicoll.measuring.sweeps import DEFINITIONS, MAX_RANKS, MODES, Plan, measure, plan, sweep

__all__ = ["DEFINITIONS", "MAX_RANKS", "MODES", "Plan", "measure", "plan", "sweep"]
