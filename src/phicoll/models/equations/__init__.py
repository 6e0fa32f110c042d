"""The papers' equations as functions of a machine's constants: reads of a line, messages, whole collectives."""
