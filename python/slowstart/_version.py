"""The version of the package, which its native module has."""

from slowstart._native import version

__version__ = version()
