"""The demo and its report: one HTML file that a browser shows without a network."""
