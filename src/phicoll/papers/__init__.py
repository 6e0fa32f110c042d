"""The papers' claims with their verdicts, and the validation of simulator and models against what the papers print."""
