"""My package."""
