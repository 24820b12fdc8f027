"""``python -m slowstart``, the command of this interpreter."""

from slowstart.commands.cli import main

main()
