"""Loads a study's own code: ``analysis.py`` in its folder, or the package ``analysis``.

It holds what the TOML files cannot express. Built-in studies use the same mechanism. Modules of a
package import each other relatively.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from typing import TYPE_CHECKING

from slowstart.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


def load_analysis(folder: Path) -> ModuleType | None:
    """Loads the analysis of the study in ``folder`` afresh; ``None`` if there is none.

    Raises:
        InputError: Loading it raised an exception.
    """
    files = (folder / "analysis.py", folder / "analysis" / "__init__.py")
    file = next((each for each in files if each.is_file()), None)
    if file is None:
        return None
    # Two folders of the same name in different places are different studies.
    place = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    name = f"slowstart_study_{place}"
    for known in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
        del sys.modules[known]
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InputError(f"{file}: {type(error).__name__}: {error}") from error
    return module
