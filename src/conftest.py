"""Doctests run in the modules that all others import, not in copies of them."""

from importlib import import_module
from pathlib import Path

SOURCE = Path(__file__).parent


def pytest_collect_file(file_path):
    """Import a module as a program would, before pytest makes a copy of it to look for doctests."""
    if file_path.suffix == ".py" and file_path.name not in ("conftest.py", "__main__.py"):
        parts = file_path.relative_to(SOURCE).with_suffix("").parts
        import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
