"""What the report's sections are made of: evidence, figures, ratios, HTML."""
