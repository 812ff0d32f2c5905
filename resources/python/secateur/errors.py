"""The error of this package."""


class Error(ValueError):
    """A failure that a person can act on. The text is one sentence that says what failed and where."""
