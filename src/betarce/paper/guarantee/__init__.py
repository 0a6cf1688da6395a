"""The simulation of the guarantee: many fits, audited by fresh members that nothing has seen."""
