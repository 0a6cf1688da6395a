"""Figures and tables of records: first a frame of what is shown, then the drawing."""
