"""Read the user's tables from CSV files, with checks for what looks wrong in them."""
