"""All that is read from inside other libraries' models, in modules named after the library.

Whatever is missing or different there raises an error of any kind; `betarce.ensemble.unreadable.reading` turns it into
a reason to ask the model itself.
"""
