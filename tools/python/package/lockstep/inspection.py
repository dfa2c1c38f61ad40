"""Every variable of a connection, by name."""

from __future__ import annotations

from typing import Optional, TypedDict


class Inspection(TypedDict):
    """The result of :meth:`lockstep.Stack.inspect`: the RFC's variables under the RFC's names.

    Sequence numbers are those on the wire; sizes are in bytes; ``_ns`` is nanoseconds of the
    stack's clock, where 0 means not measured yet and None a timer that is off.
    """

    state: str  #: ESTABLISHED, FIN-WAIT-1 ...
    local: tuple[str, int]
    remote: tuple[str, int]
    passive: bool  #: opened by a listener
    detached: bool  #: closed on the wire; unread data or events remain
    snd_una: int
    snd_nxt: int
    snd_wnd: int
    snd_wl1: int
    snd_wl2: int
    snd_up: int
    iss: int
    snd_wnd_max: int  #: the largest window that the peer has advertised
    snd_mss: int
    queued: int  #: accepted from the application and not acknowledged
    snd_urgent: bool
    rcv_nxt: int
    rcv_wnd: int
    rcv_up: int
    irs: int
    rcv_edge: int  #: the right edge last advertised
    unread: int
    out_of_order: int  #: bytes above a gap
    rcv_urgent: bool
    window_scale: bool  #: negotiated by both sides; timestamps and sack likewise
    timestamps: bool
    snd_wscale: int
    rcv_wscale: int
    ts_recent: int
    fast_open: bool  #: data on the peer's SYN was accepted with it
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
    dctcp_alpha: int  #: 65,536: all segments are marked
    pacing_rate: int  #: bytes per second; 0: not paced
    reordering_seen: bool
    srtt_ns: int
    rttvar_ns: int
    rto_ns: int
    least_rtt_ns: int
    retries: int  #: consecutive timeouts without an ACK
    persist_backoff: int
    sent_at_ns: int
    heard_at_ns: int
    retransmit_due_ns: Optional[int]
    persist_due_ns: Optional[int]
    delayed_ack_due_ns: Optional[int]
    user_timeout_ns: int  #: 0: unlimited
    largest_heard: int
    path_limited: bool  #: snd_mss is limited by the path MTU
    dscp: int
    ttl: int
    segments_sent: int
    segments_received: int
    retransmissions: int
