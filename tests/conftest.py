"""Property tests draw the same examples every time, however slow the machine."""

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")
