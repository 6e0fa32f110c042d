"""Records as they are read and kept: their schema, files, subjects and observations."""
