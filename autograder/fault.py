"""What is the grader's own fault, by whichever room."""

from __future__ import annotations


class OurFault(Exception):
    """Base of each room's error: says what of the grader's is wrong, and is never a verdict on a submission."""
