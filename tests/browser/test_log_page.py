"""The page of `replay --html` in a browser: what is seen, what one looks for, and that a long log stays usable."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from kraftcheck.ci.bench.synthetic import SyntheticLog, SyntheticSize
from kraftcheck.model.records.records import ids
from kraftcheck.solvers.logs.explain.explain import ReplayedBatch
from tests.browser.accessibility import assert_accessible
from tests.browser.large import large_page
from tests.browser.watching import Watch
from tests.shared.captures import DEAD_LEADER, ELR, replayed
from tests.shared.commands import kraftcheck
from tests.shared.places import TESTS

OUTAGE = TESTS / "snapshots" / "outage.txt"

ELEMENTS = 1500  # more elements than this a page never has, however long its log is; 200 rows of a batch are among them


def synthetic(folder: Path, records: int) -> Path:
    """The page of a log of some records."""
    log = folder / f"log-{records}"
    log.mkdir()
    with (log / f"{0:020}.log").open("wb") as segment:
        segment.writelines(SyntheticLog(SyntheticSize(topics=8, records=records)).batches())
    target = folder / f"{records}.html"
    assert kraftcheck("replay", log, "--html", target).code in (0, 12)
    return target


def write_pages(folder: Path) -> Path:
    """Write pages into a folder: of an outage, with violations, not explained, and of a longer log."""
    assert kraftcheck("replay", OUTAGE, "--html", folder / "outage.html").code == 0
    assert kraftcheck("replay", DEAD_LEADER, "--html", folder / "violated.html").code == 12
    words = ("--rules", "kafka-4.0", "--html", folder / "unexplained.html")
    assert kraftcheck("replay", ELR, *words).code == 23
    synthetic(folder, 3_000)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages."""
    return write_pages(tmp_path_factory.mktemp("logs"))


def opened(page: Page, path: Path, address: str = "") -> None:
    """Open a page and wait until its data are read."""
    page.goto(path.as_uri() + address)
    expect(page.locator("body[data-ready]")).to_be_attached()


@pytest.fixture
def violated(page: Page, folder: Path) -> Page:
    """The log with violations, opened."""
    opened(page, folder / "violated.html")
    return page


@pytest.fixture
def outage(page: Page, folder: Path) -> Page:
    """The log of an outage, opened."""
    opened(page, folder / "outage.html")
    return page


def lane(page: Page, name: str) -> Locator:
    """The lane of a name."""
    return page.locator(".lane", has=page.locator(".name", has_text=re.compile(f"^{re.escape(name)}$")))


def states(page: Page) -> list[list[str]]:
    """The partitions in view: name, state, leader, ISR, min ISR, ELR, replicas, epoch, offset."""
    rows = page.locator("#rows .row").all()
    return [row.locator("span").all_text_contents() for row in rows]


def test_a_page_opens_at_what_is_wrong(outage: Page) -> None:
    """First what is broken in words, then what to do; the cluster is that of the end, partitions in danger first."""
    expect(outage.locator("h1")).to_have_text(re.compile("^2 of 8 partitions are offline, 6 are one fault"))
    assert outage.locator("h1").evaluate("part => getComputedStyle(part).color") == "rgb(179, 29, 40)"
    first = "1. start broker 2: gives strict-1, alone-0 a leader; go on once they lead"
    expect(outage.locator(".parts p").first).to_have_text(first)
    expect(outage.locator("#state")).to_have_text("The cluster after offset 90")
    expect(outage.locator("#counts")).to_have_text("2 offline, 6 one in sync")
    assert states(outage)[:3] == [
        ["alone-0", "offline", "none", "none", "1", "2", "2", "1", "85"],
        ["strict-1", "offline", "none", "none", "1", "2", "1, 2", "2", "86"],
        ["alone-1", "one in sync", "0", "0", "1", "none", "0", "2", "59"],
    ]


def test_the_cluster_is_shown_at_any_offset(outage: Page) -> None:
    """State, danger and brokers are those of a replay up to the batch at hand, forwards and backwards."""
    outcomes = [one for one in replayed(OUTAGE) if isinstance(one, ReplayedBatch)]
    for index in (40, 12, 25, 26, 3, 40):
        image = outcomes[index].state.controller.image
        outage.get_by_label("Go to offset").fill(str(outcomes[index].batch.base_offset))
        expect(outage.locator("#place")).to_contain_text(f"batch {index + 1} of")
        partitions = {
            f"{topic.name}-{number}": p for topic in image.topics.values() for number, p in topic.partitions.items()
        }
        expected = {
            name: ["none" if p.leader == -1 else str(p.leader), ", ".join(map(str, ids(p.isr))) or "none"]
            for name, p in partitions.items()
        }
        assert {row[0]: row[2:4] for row in states(outage)} == expected
        for broker in range(3):
            known = image.registrations.get(broker)
            led = sum(int(p.leader) == broker for p in partitions.values())
            words = {"gone"} if known is None else {"fenced", "starting"} if known.fenced else {f"leads {led}"}
            assert lane(outage, f"broker {broker}").locator(".value").inner_text() in words


def test_a_partition_whose_leader_is_fenced_is_offline(violated: Page) -> None:
    """A leader that KAFKA-19522 has elected, and that is down, leads nothing, at whatever offset; a live one does."""
    for offset, offline in ((145, 8), (69, 1), (145, 8)):
        violated.get_by_label("Go to offset").fill(str(offset))
        expect(violated.locator("#counts")).to_contain_text(f"{offline} offline")
        assert sum(row[1] == "offline" for row in states(violated)) == offline
        assert lane(violated, "offline").locator(".value").inner_text() == str(offline)


def test_a_violation_is_a_bar_and_stands_at_its_batch(violated: Page) -> None:
    """Where nothing is broken now a page opens at the first violation: the event, what fails, and what it changed."""
    current = violated.locator(".batches [aria-selected=true]")
    assert current.locator("span").all_text_contents() == [
        "68", "02:09:04",
        "broker 1 registers after an unclean stop "
        "fails: leader-active, fails: isr-active-while-led, fails: unclean-stop-loses-eligibility",
    ]  # fmt: skip
    expect(violated.locator("#batch")).to_have_text("Offset 68, 2 records")
    assert violated.locator("#wrong p").all_text_contents() == [
        "VIOLATED leader-active by lone-0",
        "VIOLATED isr-active-while-led by lone-0: broker 1",
        "VIOLATED unclean-stop-loses-eligibility by lone-0",
    ]
    cells = violated.locator("#changes tr").first.locator("th, td").all_text_contents()
    assert cells == ["lone-0", "none → 1", "none → 1", "1 → none", "1", "1 → 2"]
    assert violated.locator("#changes .changed").count() == 4
    bar = lane(violated, "KAFKA-19522")
    assert bar.locator("path.fails").get_attribute("d").count("M") == 4  # type: ignore[union-attr]
    expect(bar.locator(".value")).to_have_text("now")
    violated.keyboard.press("Home")
    expect(bar.locator(".value")).to_have_text("")


def test_a_batch_that_is_not_explained_says_why(page: Page, folder: Path) -> None:
    """Such a batch is marked, and the nearest event and the fields that differ are named."""
    opened(page, folder / "unexplained.html")
    expect(page.locator(".batches [aria-selected=true] b")).to_contain_text("not explained")
    expect(page.locator("#wrong")).to_contain_text("nearest: ")
    expect(page.locator("#wrong")).to_contain_text("required")
    expect(lane(page, "not explained").locator("path.unexplained")).to_be_attached()


def test_brokers_are_lanes_with_what_they_did(outage: Page) -> None:
    """A broker's lane shows when it was fenced, starting and alive; those that are not well at the end come first."""
    names = outage.locator(".lane .name").all_text_contents()
    assert names == ["offline", "acks refused", "broker 1", "broker 2", "broker 0"]
    for broker in (1, 2):
        paths = lane(outage, f"broker {broker}").locator("path")
        drawn = paths.evaluate_all("parts => parts.map((one) => one.className.baseVal)")
        assert set(drawn) == {"live", "acts", "fenced", "starting"}
    expect(lane(outage, "broker 2").locator(".value")).to_have_text("fenced")


def test_one_walks_by_keys_clicks_and_buttons(violated: Page) -> None:
    """Keys, clicks and buttons lead to a batch, a problem or a place; the address keeps its offset."""
    place, batch = violated.locator("#place"), violated.locator("#batch")
    expect(place).to_have_text("batch 29 of 76")
    violated.keyboard.press("ArrowRight")
    expect(batch).to_have_text("Offset 70, 1 record")
    violated.locator(".batches .row", has_text="fence broker 1").first.click()
    expect(batch).to_have_text("Offset 60, 8 records")
    assert violated.url.endswith("#offset=60")
    violated.get_by_role("button", name="problem →").click()
    violated.keyboard.press("n")
    expect(place).to_have_text("batch 45 of 76")
    violated.go_back()
    expect(batch).to_have_text("Offset 68, 2 records")
    violated.keyboard.press("End")
    expect(violated.get_by_role("button", name="forward", exact=True)).to_be_disabled()
    violated.keyboard.press("Home")
    expect(batch).to_have_text("Offset 0, 1 record")
    violated.get_by_label("Go to offset").fill("69")
    expect(batch).to_have_text("Offset 68, 2 records")
    box = violated.locator(".lane svg").first.bounding_box()
    assert box is not None
    violated.mouse.click(box["x"] + box["width"] * 0.999, box["y"] + 8)
    expect(place).to_have_text("batch 76 of 76")
    violated.locator("#batches").focus()
    violated.keyboard.press("ArrowUp")
    expect(place).to_have_text("batch 75 of 76")


def test_one_partition_has_its_own_batches(violated: Page) -> None:
    """While one types, the batches and rows of partitions with such a name are left; a whole name is one partition."""
    violated.locator("main").press("/")
    violated.keyboard.type("lone")
    expect(violated.locator("#rows .row")).to_have_count(3)
    violated.keyboard.type("-0")
    expect(violated.locator("#rows .row")).to_have_count(1)
    expect(violated.locator("#place")).to_contain_text(re.compile(r" of (1\d|\d)$"))
    assert "partition=lone-0" in violated.url
    violated.reload()
    expect(violated.locator("#batch")).to_have_text("Offset 68, 2 records")
    violated.get_by_label("Partition", exact=True).fill("lone-77")
    expect(violated.locator("#place")).to_have_text("no batch matches")
    violated.keyboard.press("Escape")
    expect(violated.locator("#place")).to_contain_text(" of 76")
    violated.locator("#rows").focus()
    second = states(violated)[1][0]
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        violated.keyboard.press(key)
    expect(violated.get_by_label("Partition", exact=True)).to_have_value(second)
    expect(violated.locator("#rows .row")).to_have_count(1)
    violated.locator("#rows .row").click()
    expect(violated.get_by_label("Partition", exact=True)).to_have_value("")


def test_one_looks_for_events_and_problems(violated: Page) -> None:
    """The words of events, and a box, leave the batches that have them; every problem of the log is there."""
    violated.get_by_label("only problems").check()
    expect(violated.locator("#place")).to_have_text("batch 1 of 5")
    assert all("fails: " in text for text in violated.locator(".batches .row").all_text_contents())
    violated.get_by_label("only problems").uncheck()
    violated.get_by_label("Event or property").fill("Fence Broker 1")
    names = ([step.name for step in b.explanation.steps] for b in replayed(DEAD_LEADER) if b.explanation is not None)
    matching = [events for events in names if any("fence broker 1" in event for event in events)]
    expect(violated.locator("#place")).to_contain_text(f" of {len(matching)}")
    violated.locator("h1").click()
    for events in reversed(matching):
        violated.keyboard.press("End" if events is matching[-1] else "ArrowLeft")
        assert violated.locator("#events th").all_text_contents() == events
    violated.get_by_label("Event or property").fill("of orders-0 proposes")
    expect(violated.locator("#events")).to_contain_text("of orders-0 proposes ISR")
    violated.get_by_label("Event or property").fill("leader-active")
    expect(violated.locator("#place")).to_contain_text(" of 5")


def test_a_page_needs_no_network_and_serves_everyone(violated: Page, watch: Watch, folder: Path) -> None:
    """A page asks for nothing but itself, and has no grave fault of access, light or dark."""
    violated.keyboard.press("ArrowRight")
    assert_accessible(violated)
    assert {request.partition("#")[0] for request in watch.requests} == {(folder / "violated.html").as_uri()}


def check_elements_stay_few(page: Page, path: Path) -> None:
    """Walk and scroll through a log: the batch at hand is in view, and the elements are no more anywhere."""
    opened(page, path)
    (total,) = re.findall(r" of ([\d,]+)$", page.locator("#place").inner_text())
    for key, number in (("End", total), ("Home", "1"), ("ArrowRight", "2")):
        page.keyboard.press(key)
        expect(page.locator("#place")).to_have_text(f"batch {number} of {total}")
        expect(page.locator(".batches [aria-selected=true]")).to_be_in_viewport(ratio=0.5)
        assert page.locator("*").count() < ELEMENTS
    seen = page.locator(".batches .row").first.inner_text()
    page.locator("#batches").evaluate("part => { part.scrollTop = (part.scrollHeight - part.clientHeight) / 2; }")
    page.wait_for_function("before => document.querySelector('.batches .row').innerText !== before", arg=seen)
    first = int(page.locator(".batches .row").first.get_attribute("data-index") or "")
    assert abs(first - int(total.replace(",", "")) / 2) < 20
    assert page.locator("*").count() < ELEMENTS
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_a_longer_log_has_no_more_elements(page: Page, folder: Path) -> None:
    """In a log of 3,000 records only what is in view is an element, and every batch can be reached."""
    check_elements_stay_few(page, folder / "3000.html")


@pytest.mark.slow
def test_a_long_log_has_no_more_elements(page: Page, tmp_path: Path) -> None:
    """In a log of 100,000 records only what is in view is an element, and every batch can be reached."""
    check_elements_stay_few(page, synthetic(tmp_path, 100_000))


def test_very_many_batches_fit_a_scroll_bar(page: Page, folder: Path) -> None:
    """Where a browser could not make so high an element, a pixel is more than one, and both ends are reached."""
    text = (folder / "3000.html").read_text(encoding="utf-8")
    path = folder / "narrow.html"
    path.write_text(text.replace("TALLEST = 8e6", "TALLEST = 2e3"), encoding="utf-8")
    check_elements_stay_few(page, path)
    assert page.locator("#batches").evaluate("part => part.scrollHeight") <= 2_000


def test_a_large_cluster_stays_usable(page: Page, tmp_path: Path) -> None:
    """Of 1,000 brokers and 100,000 partitions only those in view are elements; danger comes first, and typing finds."""
    opened(page, large_page(tmp_path / "large.html", brokers=1_000, partitions=100_000))
    assert page.locator("*").count() < ELEMENTS
    expect(page.locator("#counts")).to_have_text("1,000 refuses acks=all, 99,000 all in sync")
    assert [row[1] for row in states(page)][:3] == ["refuses acks=all"] * 3
    page.get_by_label("Partition", exact=True).fill("opic-77-99")
    expect(page.locator("#rows .row")).to_have_count(11)  # with topic-77-990 to 999
    page.get_by_label("Partition", exact=True).fill("")
    page.locator("#rows").evaluate("part => { part.scrollTop = part.scrollHeight; }")
    expect(page.locator("#rows .row").last).to_contain_text("topic-99-999")
    page.locator("#lanes").evaluate("part => { part.scrollTop = part.scrollHeight; }")
    expect(page.locator(".lane").last).to_contain_text("broker 999")
    assert page.locator("*").count() < ELEMENTS
    for width in (390, 1280, 1920):
        check_width(page, tmp_path / "large.html", width)


def check_width(page: Page, path: Path, width: int) -> None:
    """In a window so wide nothing is wider, and nothing that one needs is cut off."""
    page.set_viewport_size({"width": width, "height": 844})
    opened(page, path)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = """parts => parts.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"""
    needed = page.locator(".lane .name, .lane .value, #rows .row span:visible")
    assert all(" or " in one for one in needed.evaluate_all(cut))  # several defects in one name
    expect(page.locator(".batches [aria-selected=true]")).to_have_count(1)


@pytest.mark.parametrize("name", ["outage", "violated", "unexplained"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_every_window_is_wide_enough(page: Page, folder: Path, name: str, width: int) -> None:
    """On a phone, a laptop and a desktop nothing is wider than the window, and nothing that one needs is cut off."""
    check_width(page, folder / f"{name}.html", width)
