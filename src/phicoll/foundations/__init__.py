"""What every other package uses: argument parsing, files, HTML tables, progress bars, exit statuses."""
