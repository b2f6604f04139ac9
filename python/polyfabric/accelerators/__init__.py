"""Accelerators: machine files, simulation, replay, and the figures that a sweep may vary."""
