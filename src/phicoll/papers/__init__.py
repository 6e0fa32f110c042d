"""What the papers state and printed, and whether it holds: their claims, and the validation of what is simulated and modelled."""
