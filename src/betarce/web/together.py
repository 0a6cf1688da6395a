"""Answer questions that wait at the same time in one batch."""

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from betarce.errors import BetarceError

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_MOST = 16


class Together(Generic[Question, Answer]):
    """Collects what several threads ask while one of them is being answered, and answers that in one batch.

    Parameters
    ----------
    answer : callable
        Gives one answer per question; what a question gets must not depend on its company.

    Examples
    --------
    >>> double = Together(lambda numbers: [2 * number for number in numbers])
    >>> double([1, 2])
    [2, 4]
    """

    def __init__(self, answer: Callable[[Sequence[Question]], Sequence[Answer]]) -> None:
        self._answer = answer
        self._turn, self._guard = threading.Lock(), threading.Lock()
        self._waiting: list[_Ticket[Question, Answer]] = []

    @property
    def n_waiting(self) -> int:
        """How many wait for the next batch."""
        with self._guard:
            return len(self._waiting)

    def __call__(self, questions: Sequence[Question]) -> list[Answer]:
        """Give the answers to some questions; whoever has the turn answers for all who wait."""
        ticket = _Ticket[Question, Answer](list(questions))
        with self._guard:
            self._waiting.append(ticket)
        with self._turn:
            while ticket.answers is None and ticket.error is None:
                self._answer_some()
        if ticket.error is not None:
            raise ticket.error
        assert ticket.answers is not None
        return ticket.answers

    def _answer_some(self) -> None:
        with self._guard:
            batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
        try:
            answers = iter(self._answer([question for ticket in batch for question in ticket.questions]))
            for ticket in batch:
                ticket.answers = [next(answers) for _ in ticket.questions]
        except BetarceError:
            for ticket in batch:  # one of them is at fault, and the others must not suffer
                self._answer_alone(ticket)
        finally:
            for ticket in batch:
                if ticket.answers is None and ticket.error is None:
                    ticket.error = RuntimeError("The batch of this question failed.")

    def _answer_alone(self, ticket: "_Ticket[Question, Answer]") -> None:
        try:
            ticket.answers = list(self._answer(ticket.questions))
        except BetarceError as error:
            ticket.error = error


class _Ticket(Generic[Question, Answer]):
    def __init__(self, questions: list[Question]) -> None:
        self.questions = questions
        self.answers: list[Answer] | None = None
        self.error: Exception | None = None
