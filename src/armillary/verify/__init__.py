"""Find out whether code does what a task says. Knows no model; ``armillary.verify(task, code)`` works without one."""

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    # The function and the package share their name; a package that can be called serves both, whatever was imported
    # first.
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from armillary.verify.facade import verify

        return verify(*arguments, **named)


sys.modules[__name__].__class__ = _CallablePackage
