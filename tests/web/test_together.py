"""Questions that wait at the same time: answered in one batch, each as if it were alone."""

import threading

import pytest

from betarce.errors import InvalidInput
from betarce.web.together import Together


def test_what_waits_during_an_answer_is_answered_in_one_batch():
    first, open_door, batches = threading.Event(), threading.Event(), []

    def answer(numbers):
        batches.append(sorted(numbers))
        first.set()
        assert open_door.wait(60)
        return [10 * number for number in numbers]

    together, found = Together(answer), {}
    threads = [threading.Thread(target=lambda n=n: found.update({n: together([n])})) for n in range(5)]
    threads[0].start()
    assert first.wait(60)
    for thread in threads[1:]:
        thread.start()
    while together.n_waiting < 4:
        pass
    open_door.set()
    for thread in threads:
        thread.join(60)
    assert found == {n: [10 * n] for n in range(5)}
    assert batches == [[0], [1, 2, 3, 4]]


def test_a_question_that_cannot_be_answered_does_not_spoil_the_others():
    def answer(numbers):
        if 3 in numbers:
            raise InvalidInput("`number` must not be 3.")
        return list(numbers)

    together = Together(answer)
    with pytest.raises(InvalidInput, match="must not be 3"):
        together([3])
    assert together([1, 2]) == [1, 2]
