"""The tables of the paper, with the published numbers beside ours."""
