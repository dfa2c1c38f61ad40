"""Every variable of a connection, by name."""

from __future__ import annotations

from typing import Optional, TypedDict


class Inspection(TypedDict):
    """What :meth:`lockstep.Stack.inspect` gives: the RFC's variables under the RFC's names.

    Sequence numbers are those on the wire; extents are bytes; ``_ns`` is nanoseconds of the
    stack's clock, where 0 is no measurement yet and None a timer that is off.
    """

    state: str  #: ESTABLISHED, FIN-WAIT-1 ...
    local: tuple[str, int]
    remote: tuple[str, int]
    passive: bool  #: opened by a listener
    detached: bool  #: the wire is done with it; unread text or events remain
    snd_una: int
    snd_nxt: int
    snd_wnd: int
    snd_wl1: int
    snd_wl2: int
    snd_up: int
    iss: int
    snd_wnd_max: int  #: the largest window that was ever offered to us
    snd_mss: int
    queued: int  #: taken from the application and not acknowledged
    snd_urgent: bool
    rcv_nxt: int
    rcv_wnd: int
    rcv_up: int
    irs: int
    rcv_edge: int  #: the right edge that was offered
    unread: int
    out_of_order: int  #: bytes above a gap
    rcv_urgent: bool
    window_scale: bool  #: both sides speak it; so with timestamps and sack
    timestamps: bool
    snd_wscale: int
    rcv_wscale: int
    ts_recent: int
    fast_open: bool  #: the peer's SYN brought text that was taken with it
    sack: bool
    ecn_rx: bool
    ecn_tx: bool
    ecn_echo: bool
    ecn_cwr_due: bool
    cwnd: int
    ssthresh: int
    recover: int  #: a sequence number
    fast_recovery: bool
    pipe: int
    sacked: int
    lost: int
    sack_ranges: int  #: on the scoreboard
    duplicate_acks: int
    w_max: int  #: of CUBIC, as cwnd_prior
    cwnd_prior: int
    dctcp_alpha: int  #: 65,536 is all marked
    pacing_rate: int  #: bytes per second; 0: not paced
    reordering_seen: bool
    srtt_ns: int
    rttvar_ns: int
    rto_ns: int
    least_rtt_ns: int
    retries: int  #: consecutive timeouts that went unanswered
    persist_backoff: int
    sent_at_ns: int
    heard_at_ns: int
    retransmit_due_ns: Optional[int]
    persist_due_ns: Optional[int]
    delayed_ack_due_ns: Optional[int]
    user_timeout_ns: int  #: 0: for ever
    largest_heard: int
    path_limited: bool  #: snd_mss is what the path carries
    dscp: int
    ttl: int
    segments_sent: int
    segments_received: int
    retransmissions: int
