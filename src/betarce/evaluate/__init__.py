"""Measuring what was promised."""
