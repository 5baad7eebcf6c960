"""Two lists in order of arrival."""

from probate_reference.inbox import Inbox


def test_prompts_leave_in_the_order_of_arrival() -> None:
    inbox = Inbox()
    inbox.queue("A")
    inbox.queue("B")
    assert [inbox.claim(), inbox.claim()] == ["A", "B"]
    assert not inbox.pending()


def test_leftover_steering_goes_behind_the_prompts() -> None:
    inbox = Inbox()
    inbox.steer("S")
    inbox.steer("T")
    assert inbox.take_steering() == "S"
    inbox.queue("A")
    inbox.requeue_steering()
    assert not inbox.has_steering()
    assert [inbox.claim(), inbox.claim()] == ["A", "T"]


def test_leftover_steering_alone_becomes_the_queue() -> None:
    inbox = Inbox()
    inbox.requeue_steering()
    assert not inbox.has_queued()
    inbox.steer("S")
    inbox.requeue_steering()
    assert inbox.claim() == "S"


def test_statistics_and_clear() -> None:
    inbox = Inbox()
    inbox.queue("A")
    inbox.steer("S")
    assert (inbox.statistics().queued, inbox.statistics().steering) == (1, 1)
    inbox.clear()
    assert (inbox.statistics().queued, inbox.statistics().steering) == (0, 0)
