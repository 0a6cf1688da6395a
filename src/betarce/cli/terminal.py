"""A console for text that came from outside."""

from typing import Any

from rich import console
from rich.text import Text

from betarce.safe_text import in_terminal


class Console(console.Console):
    """Rich's console, which never passes codes within its text on to the terminal; markup is the caller's to escape."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Turn text into what is printed."""
        return super().render_str(in_terminal(text), **options)
