"""Rules about columns: what a value is, how it may move, where it may end.

One module per rule. A new one is a module with a class that inherits from `RulePart`, decorated by `rule`, with the
function that makes it. One line in `betarce.exports.RULE_HOMES` makes it known, here and at the top level.
"""

from importlib import import_module

from betarce.exports import RULE_HOMES

__all__ = []

for _module, _names in RULE_HOMES.items():
    _home = import_module(f"{__name__}.{_module}")
    globals().update({name: getattr(_home, name) for name in _names})
    __all__ += _names
