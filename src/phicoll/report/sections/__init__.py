"""The sections of the report, in their order; each file has one, as HTML text."""
