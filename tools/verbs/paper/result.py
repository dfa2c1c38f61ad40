"""What an experiment returns: measured values, and gates that compare them with a publication."""

from dataclasses import dataclass, field


@dataclass
class Gate:
    """One line of the table."""

    what: str
    published: str
    measured: str
    limit: str
    holds: bool


@dataclass
class Result:
    """The measured values, ready for JSON; the gates; and remarks for whoever reads them."""

    data: dict = field(default_factory=dict)
    gates: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def holds(self) -> bool:
        return all(gate.holds for gate in self.gates)
