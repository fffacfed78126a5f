"""Queue disciplines, congestion controllers and load balancers of one's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from tailcut import _native

#: What a queue says of a packet: it is queued.
QUEUE = 0
#: It is queued, marked as having met congestion; one that cannot be marked is queued as it is.
MARK = 1
#: It is dropped.
DROP = 2
#: It is queued, and the oldest packet of the queue is dropped in its place.
DROP_FRONT = 3

_registered: dict[str, type[Part]] = {}


class Part:
    """What a user writes: a class with a ``name``, by which designs have it."""

    #: Its name in designs: a lowercase letter, and then lowercase letters, digits and ``-``. A
    #: class without one is only there to be built upon.
    name: ClassVar[str] = ""
    #: What it is, in a line.
    about: ClassVar[str] = ""
    _kind: ClassVar[str] = ""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        # A name that was inherited stands for the class that has it.
        if cls.__dict__.get("name"):
            register(cls)

    def __init__(self) -> None:
        pass


class Queue(Part):
    """A queue discipline for every switch port: a FIFO that asks what to drop and what to mark.

    An object is made for each port. The packet that is being sent is not in the queue.
    """

    #: The transport that runs over it.
    like: ClassVar[str] = "tcp"
    #: Bytes that may be queued at most; ``None`` where :meth:`enqueue` alone decides.
    limit: int | None = None
    #: Bytes: a packet that finds no more of them queued is queued without :meth:`enqueue` being
    #: asked, which saves most of what a queue in Python costs; ``None`` where it is asked about
    #: every packet.
    ask_above: int | None = None
    #: The rate of the port's link, in bit/s; there before ``__init__``.
    rate_bps: int
    #: The seed of the port's own random stream; there before ``__init__``.
    seed: int
    _kind = "queue"

    def enqueue(self, now_ns: int, backlog: int, size: int, ecn: bool) -> int | bool | None:
        """A packet arrives.

        Args:
            now_ns: the time in nanoseconds.
            backlog: bytes that are queued, without this packet.
            size: its bytes on the wire.
            ecn: whether it can be marked.

        Returns:
            ``QUEUE``, ``MARK``, ``DROP`` or ``DROP_FRONT``; ``True`` and ``None`` are ``QUEUE``,
            ``False`` is ``DROP``.
        """
        return QUEUE

    def dequeue(self, now_ns: int, backlog: int, size: int, waited_ns: int) -> int | bool | None:
        """The link is free for the oldest packet. Only asked where a class has a method of its own.

        Args:
            now_ns: the time in nanoseconds.
            backlog: bytes that are queued, with this packet.
            size: its bytes on the wire.
            waited_ns: how long it has been queued, in nanoseconds.

        Returns:
            ``QUEUE`` to send it as it is, ``MARK`` to send it marked, ``DROP`` to drop it.
        """
        return QUEUE


class Controller(Part):
    """A congestion controller. As it stands it is TCP NewReno (RFC 5681).

    An object is made for each connection. When there was a loss, and what is sent during recovery,
    is the sender's business. The sender keeps the window between a segment and its maximum.
    """

    #: The transport whose network and timers it has: ``"tcp"``, ``"cubic"``, ``"dctcp"``, ...
    like: ClassVar[str] = "tcp"
    #: Whether packets can be marked and the receiver echoes each mark exactly, as for DCTCP.
    accurate_ecn: ClassVar[bool] = False
    _kind = "controller"
    _credit = 0

    def on_ack(self, window: _native.Window, ack: _native.Ack) -> None:
        """New data was acknowledged, also during recovery. Changes ``window.cwnd``."""
        if not ack.may_grow:
            return
        if window.in_slow_start:
            window.cwnd += min(ack.acked, ack.slow_start_limit)
            return
        self._credit += ack.acked
        if self._credit >= window.cwnd:
            self._credit -= window.cwnd
            window.cwnd += ack.mss

    def on_loss(self, window: _native.Window, congested: _native.Congested) -> None:
        """A loss was seen; at most once a window. Sets ``ssthresh`` and ``cwnd``."""
        self.on_timeout(window, congested)
        window.cwnd = window.ssthresh

    def on_timeout(self, window: _native.Window, congested: _native.Congested) -> None:
        """The retransmission timer fired. Sets ``ssthresh``; ``cwnd`` becomes one segment."""
        window.ssthresh = max(congested.in_flight // 2, 2 * congested.mss)
        self._credit = 0

    def on_mark(self, window: _native.Window, congested: _native.Congested) -> None:
        """An ACK said that a packet was marked; at most once a window, after :meth:`on_ack`."""
        self.on_loss(window, congested)


class Balancer(Part):
    """A load balancer; its name stands behind the ``@`` of a design. One object for each switch."""

    #: Whether packets of a flow may take several ways; else a switch keeps to what it chose first.
    by_packet: ClassVar[bool] = True
    #: The switch's number; there before ``__init__``.
    switch: int
    _kind = "balancer"

    def select(
        self, now_ns: int, flow: int, size: int, backlogs: Sequence[int | None]
    ) -> int:
        """Which of several equal-cost ports a packet takes.

        Args:
            now_ns: the time in nanoseconds.
            flow: a hash of the packet's flow, 32 bits, the same at all switches.
            size: its bytes on the wire.
            backlogs: bytes that are queued at each port; ``None`` where its link is down.

        Returns:
            The place of a port in ``backlogs``.
        """
        raise NotImplementedError


def register(part: type[Part]) -> None:
    """Makes the name of a class known to this process."""
    name = part.name
    if _registered.get(name) is part:
        return
    if issubclass(part, Balancer):
        like = "spray" if part.by_packet else "ecmp"
    else:
        like = getattr(part, "like", "")
    _native.register(part._kind, name, part.about or f"{part.__qualname__}, in Python", like, part)
    _registered[name] = part


def named_in(designs: Sequence[str]) -> list[type[Part]]:
    """The classes that designs name, for workers that do not know them."""
    names = {name for design in designs for name in re.split(r"[+@]", design)}
    return [part for name, part in _registered.items() if name in names]
