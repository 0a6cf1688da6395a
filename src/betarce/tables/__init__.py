"""Tables of the user, from files: reading them, and saying what looks wrong in them."""
