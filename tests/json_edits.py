"""JSON data with one value changed, for tests of what is refused."""

import copy


def places(data, path=()):
    """Give the path of every value inside JSON data."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(data, path, edit):
    """Give a copy in which one value is edited."""
    data = copy.deepcopy(data)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    edit(inner, path[-1])
    return data
