"""Episodes, campaigns and validation: what makes the papers' numbers, and ours."""
