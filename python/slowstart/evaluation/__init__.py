"""The scorecard of an algorithm: what RFC 9743 asks for, measured beside well-known algorithms.

``scenarios.toml`` has the scenarios and ``criteria/*.toml`` the criteria with the rows that answer
them; :mod:`~slowstart.evaluation.table` reads both.
"""
