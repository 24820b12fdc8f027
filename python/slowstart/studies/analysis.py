"""What a study's files cannot express: ``analysis.py`` in its folder, or the package ``analysis``.

A study that comes with slowstart has it as any other does. In a package, modules import each other
relatively.
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
    """The analysis of the study in ``folder``, read anew; ``None`` where there is none.

    Raises:
        InputError: It raises an exception when it is loaded.
    """
    files = (folder / "analysis.py", folder / "analysis" / "__init__.py")
    file = next((each for each in files if each.is_file()), None)
    if file is None:
        return None
    # Folders of one name in two places are two studies.
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
