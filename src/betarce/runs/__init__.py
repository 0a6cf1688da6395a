"""From files to certified answers."""
