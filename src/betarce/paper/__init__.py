"""The reproduction of the paper: plans, cells, records, tables and figures."""
