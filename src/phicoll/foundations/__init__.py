"""What every other package uses: argument parsing, exit codes, file checks, HTML tables and progress bars."""
