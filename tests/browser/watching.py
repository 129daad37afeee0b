"""What a page asks of the network, and the faults of its scripts."""

from attrs import field, frozen
from playwright.sync_api import ConsoleMessage, Page


@frozen
class Watch:
    """What has happened in a page since it was opened."""

    requests: list[str] = field(factory=list)  # every address that it has asked for, its own first
    faults: list[str] = field(factory=list)  # errors and warnings of its scripts, and of its content security policy


def watching(page: Page) -> Watch:
    """Watch a page that has not been opened yet."""
    watch = Watch()

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            watch.faults.append(message.text)

    page.on("request", lambda request: watch.requests.append(request.url))
    page.on("pageerror", lambda error: watch.faults.append(str(error)))
    page.on("console", heard)
    return watch
