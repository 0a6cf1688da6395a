"""What the server says no to: a code that the page turns into a sentence, with what it needs to know."""


class Refusal(Exception):
    """A question that cannot be answered.

    Parameters
    ----------
    code : str
        The key of the sentence among the texts of the page, below "errors".
    status : int
        The HTTP status.
    **details
        What the sentence says.
    """

    def __init__(self, code: str, *, status: int = 400, **details: str) -> None:
        super().__init__(code)
        self.code = code
        self.status = status
        self.details = details
