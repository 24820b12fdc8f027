"""What a run shows: tables, words, figures and the self-contained HTML page."""
