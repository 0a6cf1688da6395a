"""The figures of the paper: first a frame of what is shown, then the drawing."""
