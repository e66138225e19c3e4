"""The `impact-aware` command."""
