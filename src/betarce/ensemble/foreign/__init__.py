"""Readers of other libraries' fitted models, one module per library.

Another version of a library may store its models differently, which raises an error of any kind here.
`betarce.ensemble.unreadable.reading` turns it into a reason to ask the model itself.
"""
