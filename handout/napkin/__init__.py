"""Napkin: resource accounting for deep learning, nine modules built by hand."""
