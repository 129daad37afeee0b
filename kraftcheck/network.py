"""Parts for protocols of your own: networks, timers and clocks. `docs/how-to/protocols.md` shows them at work."""

from kraftcheck.model.language.network import Clocks, Duplicating, Network, Ordered, Timers, Unordered, losses, ticks

__all__ = ["Clocks", "Duplicating", "Network", "Ordered", "Timers", "Unordered", "losses", "ticks"]
