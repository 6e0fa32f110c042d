"""Sweeps on this machine and on simulated ones, and the doctor, which finds what would disturb a measurement."""

from phicoll.measuring.sweeps import DEFINITIONS, MAX_RANKS, MODES, Plan, measure, plan, sweep

__all__ = ["DEFINITIONS", "MAX_RANKS", "MODES", "Plan", "measure", "plan", "sweep"]
