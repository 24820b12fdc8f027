"""Checks of a start-up against rules: ``slowstart check``, for continuous integration.

:mod:`~slowstart.checking.rules` reads a file of cases and rules,
:mod:`~slowstart.checking.kinds` has the measurements and the kinds of rules,
:mod:`~slowstart.checking.runs` makes the runs, :mod:`~slowstart.checking.judge` decides, with
:mod:`~slowstart.checking.baseline`, and :mod:`~slowstart.checking.output` writes what it found.
"""
