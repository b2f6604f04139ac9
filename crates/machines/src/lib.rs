//! Accelerators: description, mapping, schedule, checker, timing, energy, replay.
