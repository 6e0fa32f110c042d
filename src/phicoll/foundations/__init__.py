"""Argument parsing, exit codes, files, HTML tables and progress bars, which every other package uses."""
