"""The one style of all pictures."""
