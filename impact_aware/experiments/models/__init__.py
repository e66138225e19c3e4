"""The papers' own models, and references that predictions are compared with; no plant of the product."""
