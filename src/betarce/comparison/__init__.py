"""Methods side by side, and the measures of quality."""
