"""Base classes of custom queue disciplines, congestion controllers and load balancers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from tailcut import _native

#: Decision of a queue: the packet is queued.
QUEUE = 0
#: The packet is queued and gets a congestion mark, if its transport supports marks.
MARK = 1
#: The packet is dropped.
DROP = 2
#: The packet is queued, and the oldest packet of the queue is dropped.
DROP_FRONT = 3

_registered: dict[str, type[Part]] = {}


class Part:
    """Base class of all parts. Designs refer to a part by its ``name``."""

    #: Name in designs: a lowercase letter, followed by lowercase letters, digits and ``-``.
    #: A class without a name is only a base of other classes.
    name: ClassVar[str] = ""
    #: Description of the part in one line.
    about: ClassVar[str] = ""
    _kind: ClassVar[str] = ""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        # An inherited name belongs to the class that defines it, so it is not registered again.
        if cls.__dict__.get("name"):
            register(cls)

    def __init__(self) -> None:
        pass


class Queue(Part):
    """A queue discipline for every switch port: a FIFO whose methods drop and mark packets.

    Each port has its own object. The packet that is being sent is not in the queue.
    """

    #: Transport that runs over the queue.
    like: ClassVar[str] = "tcp"
    #: Largest number of queued bytes; ``None`` if only :meth:`enqueue` decides.
    limit: int | None = None
    #: Queued bytes up to which a packet is queued without a call of :meth:`enqueue`.
    #: A limit saves most of the cost of a queue in Python. ``None``: every packet causes a call.
    ask_above: int | None = None
    #: Rate of the port's link in bit/s. The rate is set before ``__init__``.
    rate_bps: int
    #: Seed of the port's own random stream. The seed is set before ``__init__``.
    seed: int
    _kind = "queue"

    def enqueue(self, now_ns: int, backlog: int, size: int, ecn: bool) -> int | bool | None:
        """Decides about a packet that arrives.

        Args:
            now_ns: the time in nanoseconds.
            backlog: bytes that are queued, without this packet.
            size: bytes of the packet on the wire.
            ecn: whether the packet can be marked.

        Returns:
            ``QUEUE``, ``MARK``, ``DROP`` or ``DROP_FRONT``.
            ``True`` and ``None`` mean ``QUEUE``, and ``False`` means ``DROP``.
        """
        return QUEUE

    def dequeue(self, now_ns: int, backlog: int, size: int, waited_ns: int) -> int | bool | None:
        """Decides about the oldest packet when the link is free. Called only if a class defines it.

        Args:
            now_ns: the time in nanoseconds.
            backlog: bytes that are queued, with this packet.
            size: bytes of the packet on the wire.
            waited_ns: time since the packet was queued, in nanoseconds.

        Returns:
            ``QUEUE`` to send it unchanged, ``MARK`` to send it marked, ``DROP`` to drop it.
        """
        return QUEUE


#: Value of ``Ack.slow_start_limit`` if every acknowledged byte counts.
_UNLIMITED = 2**64 - 1


class Controller(Part):
    """A congestion controller. Its default methods are TCP NewReno (RFC 5681).

    Each connection has its own controller. The sender detects losses, and chooses what to repeat.
    The sender also keeps the window between one segment and the maximum.
    """

    #: Transport whose network and timers the controller uses: ``"tcp"``, ``"cubic"``, ``"dctcp"``, ...
    like: ClassVar[str] = "tcp"
    #: Whether switches may mark packets and the receiver echoes each mark exactly, as in DCTCP.
    accurate_ecn: ClassVar[bool] = False
    _kind = "controller"
    _credit = 0

    def on_ack(self, window: _native.Window, ack: _native.Ack) -> None:
        """Changes ``window.cwnd`` when new data is acknowledged, even during recovery."""
        if not ack.may_grow:
            return
        acked = ack.acked
        if window.in_slow_start:
            if ack.slow_start_limit == _UNLIMITED:
                # As in Linux, bytes above ssthresh count towards congestion avoidance.
                grown = min(acked, window.ssthresh - window.cwnd)
                acked -= grown
            else:
                grown = min(acked, ack.slow_start_limit)
                acked = 0
            window.cwnd += grown
        self._credit += acked
        if self._credit >= window.cwnd:
            self._credit -= window.cwnd
            window.cwnd += ack.mss

    def on_loss(self, window: _native.Window, congested: _native.Congested) -> None:
        """Sets ``ssthresh`` and ``cwnd`` after a loss, at most once in each window."""
        self.on_timeout(window, congested)
        window.cwnd = window.ssthresh

    def on_timeout(self, window: _native.Window, congested: _native.Congested) -> None:
        """Sets ``ssthresh`` after a timeout. After this call, ``cwnd`` becomes one segment."""
        window.ssthresh = max(congested.in_flight // 2, 2 * congested.mss)
        self._credit = 0

    def on_mark(self, window: _native.Window, congested: _native.Congested) -> None:
        """Reacts to an ACK with a mark, after :meth:`on_ack`. Called at most once in each window.
        """
        self.on_loss(window, congested)


class Balancer(Part):
    """A load balancer. Its name follows the ``@`` of a design. Each switch has its own object."""

    #: Whether packets of one flow may use different ports. If not, a switch keeps its first choice.
    by_packet: ClassVar[bool] = True
    #: Number of the switch. It is set before ``__init__``.
    switch: int
    _kind = "balancer"

    def select(
        self, now_ns: int, flow: int, size: int, backlogs: Sequence[int | None]
    ) -> int:
        """Chooses one of several equal-cost ports for a packet.

        Args:
            now_ns: the time in nanoseconds.
            flow: a hash of the packet's flow, 32 bits, equal at all switches.
            size: bytes of the packet on the wire.
            backlogs: bytes that are queued at each port; ``None`` if its link is down.

        Returns:
            The index of a port in ``backlogs``.
        """
        raise NotImplementedError


def register(part: type[Part]) -> None:
    """Registers the name of a class in this process."""
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
    """Returns the classes that designs name, for workers that have not registered them."""
    names = {name for design in designs for name in re.split(r"[+@]", design)}
    return [part for name, part in _registered.items() if name in names]
