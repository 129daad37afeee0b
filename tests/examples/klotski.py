"""The sliding puzzle Klotski: SlidingPuzzles of the TLA+ Examples."""

from attrs import frozen

import kraftcheck as kc

WIDTH, HEIGHT = 4, 5
SHAPES = ((2, 2), (2, 1), (1, 2), (1, 1))
WAYS = ((1, 0), (0, 1), (-1, 0), (0, -1))
START = ((1, 2, 0, 0), (2, 2, 1, 0), (1, 2, 3, 0), (1, 2, 0, 2), (2, 1, 1, 2), (1, 2, 3, 2),
         (1, 1, 1, 3), (1, 1, 2, 3), (1, 1, 0, 4), (1, 1, 3, 4))  # fmt: skip
Piece = tuple[int, int, int, int]  # width, height, column and row


class Pieces(kc.SetOf):
    """The pieces on the board; those of one shape are not told apart."""

    members = tuple(
        (*shape, x, y) for shape in SHAPES for x in range(WIDTH - shape[0] + 1) for y in range(HEIGHT - shape[1] + 1)
    )


@frozen
class Board:
    """The pieces on the board."""

    pieces: Pieces


def cells(piece: Piece) -> set[tuple[int, int]]:
    """The cells that a piece covers."""
    width, height, left, top = piece
    return {(left + x, top + y) for x in range(width) for y in range(height)}


def slide(piece: Piece, after: Piece) -> kc.Action:
    """The action that a piece goes one cell further."""
    new = cells(after) - cells(piece)
    blocking = Pieces.of(other for other in Pieces.members if cells(other) & new and not cells(other) & cells(piece))

    def effect(s: Board) -> Board:
        return Board(s.pieces.minus(s.pieces.just(piece)).plus(s.pieces.just(after)))

    def guard(s: Board) -> kc.Truth:
        return kc.all_of(s.pieces.has(piece), s.pieces.keep(blocking).is_empty())

    return kc.Action(f"{'x'.join(map(str, piece[:2]))} from {piece[2:]} to {after[2:]}", effect, guard)


def slides() -> list[kc.Action]:
    """Every step of every piece."""
    steps = [((*shape, x, y), (*shape, x + dx, y + dy)) for *shape, x, y in Pieces.members for dx, dy in WAYS]
    return [slide(piece, after) for piece, after in steps if after in Pieces.members]


KLOTSKI = kc.System(
    name="klotski",
    summary="A sliding puzzle.",
    layout=Board(Pieces.domain()),
    initial=[Board(Pieces.of(START))],
    actions=slides(),
    properties=[kc.always("not-solved", "the big square is not at the exit",
                          lambda s: kc.negate(s.pieces.has((2, 2, 1, 3))))],
)  # fmt: skip
