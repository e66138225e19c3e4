"""The board: nothing is left over in a viewer, and whoever comes late sees everything."""

from impact_aware.markers import Marker, MarkerBoard
from impact_aware.markers.marker import Sheet

RED = (1.0, 0.0, 0.0, 1.0)


def ball(item: str, number: int, lifetime: float = 0.0) -> Marker:
    return Sheet("a", "base", 0.0, lifetime=lifetime).sphere(item, number, (0.0, 0.0, 0.0), 0.1, RED)


def names(markers: tuple[Marker, ...]) -> set[tuple[str, int]]:
    return {marker.name for marker in markers}


def test_what_the_next_scene_lacks_is_deleted():
    board = MarkerBoard()
    board.show("impact", [ball("contact", 0), ball("contact", 1), ball("cone", 0)], 0.0)
    changes = board.show("impact", [ball("contact", 0)], 1.0)
    assert names(changes.add) == {("a/contact", 0)}
    assert set(changes.delete) == {("base", "a/contact", 1), ("base", "a/cone", 0)}


def test_an_empty_group_takes_everything_away_once():
    board = MarkerBoard()
    board.show("impact", [ball("contact", 0)], 0.0)
    assert board.show("impact", [], 1.0).delete == (("base", "a/contact", 0),)
    assert not board.show("impact", [], 2.0)


def test_what_has_faded_is_not_deleted_again_nor_told_to_latecomers():
    board = MarkerBoard()
    board.show("ahead", [ball("contact", 0, lifetime=0.3)], 0.0)
    board.show("object", [ball("object", 0)], 0.0)
    assert names(board.everything(0.2)) == {("a/contact", 0), ("a/object", 0)}
    assert names(board.everything(0.4)) == {("a/object", 0)}
    assert board.namespaces(0.4) == {"a/object"}
    assert not board.show("ahead", [], 0.4)


def test_groups_do_not_touch_each_other():
    board = MarkerBoard()
    board.show("one", [ball("x", 0)], 0.0)
    assert not board.show("two", [ball("y", 0)], 0.0).delete
    board.clear()
    assert board.everything(0.0) == ()
