"""What the figures of an impact show: data, units, labels and colours of everything drawn, from known numbers."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.patches import Polygon
from matplotlib.text import Text

from impact_aware.estimation.estimate import estimate
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.impact_fit import FitCurve
from impact_aware.report import figures
from impact_aware.report.figures import (
    COLORS,
    draw_contact_point,
    draw_positions,
    draw_velocities,
    figure_style,
    impact_figures,
)
from test.support.hand_made import TIME, make_impact


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def color_of(artist):
    return next(name for name, color in COLORS.items() if color == to_hex(artist.get_color()))


def legend_of(figure):
    legends = [axes.get_legend() for axes in figure.axes if axes.get_legend()] + figure.legends
    (legend,) = legends
    return {text.get_text(): handle for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)}


SHOWN = 1e-3 * (np.arange(-60, 120) + 0.5)
"""Samples that the figures have room for, s."""


@pytest.fixture(autouse=True)
def style():
    with figure_style():
        yield


@pytest.fixture
def fits(monkeypatch):
    """Straight fits: before the impact 2, after it 3, with slopes 4 and 5; joint b has ten times as much."""
    times = np.array([-0.05, -0.01]), np.array([0.004, 0.1, 0.13])
    curves = [
        FitCurve(at, np.outer(value + at, [1.0, 10.0]), np.full((len(at), 2), slope) * [1.0, 10.0])
        for at, value, slope in zip(times, (2.0, 3.0), (4.0, 5.0), strict=True)
    ]
    monkeypatch.setattr(figures, "curve_before", lambda impact: curves[0])
    monkeypatch.setattr(figures, "curve_after", lambda impact: curves[1])


def test_velocities_of_every_joint(fits):
    figure = draw_velocities(make_impact())
    first, second, empty, _ = figure.axes
    assert [axes.get_title("left") for axes in (first, second)] == ["a", "b"]
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("time from the impact, ms", "rad/s")
    assert not empty.axison
    for axes, slope, joint in ((first, 7.0, 0), (second, -3.0, 1)):
        assert axes.get_xlim() == (-60.0, 120.0)
        lines = lines_of(axes)
        assert {name: color_of(line) for name, line in lines.items()} == {
            "recorded velocity": "ink", "fit before": "before", "fit after": "estimated", "predicted": "predicted",
            "estimated (± 2 s.e.)": "estimated",
        }  # fmt: skip
        times, values = lines["recorded velocity"].get_data()
        np.testing.assert_allclose(times, 1e3 * SHOWN, atol=1e-9)
        np.testing.assert_allclose(values, slope * SHOWN, atol=1e-9)
        np.testing.assert_allclose(lines["fit before"].get_data(), [[-50, -10], np.full(2, 4.0 * 10**joint)])
        # The fit's last sample is outside.
        np.testing.assert_allclose(lines["fit after"].get_data(), [[4, 100], np.full(2, 5.0 * 10**joint)])
        np.testing.assert_allclose(lines["predicted"].get_data(), [[0, 25], [(0.2, 0.35)[joint]] * 2])
        np.testing.assert_allclose(np.ravel(lines["estimated (± 2 s.e.)"].get_data()), [0, (0.5, -0.05)[joint]])
        bars = {to_hex(c.get_color()[0]): c.get_segments()[0] for c in axes.collections}
        # Two standard errors to either side.
        np.testing.assert_allclose(bars[COLORS["predicted"]], [[0, (-0.1, 0.23)[joint]], [0, (0.5, 0.47)[joint]]])
        np.testing.assert_allclose(bars[COLORS["estimated"]], [[0, (0.48, -0.09)[joint]], [0, (0.52, -0.01)[joint]]])
    assert list(legend_of(figure)) == list(lines_of(first))


def test_velocities_without_recorded_ones_are_differences():
    impact = make_impact(window=replace(make_impact().window, velocities=None), estimate=None, prediction=None)
    first = draw_velocities(impact).axes[0]
    lines = lines_of(first)
    assert list(lines) == ["differentiated positions"]
    times, values = lines["differentiated positions"].get_data()
    # Of the square of the time: twice the time.
    np.testing.assert_allclose(values, 2e-3 * times, atol=1e-9)


def test_positions_of_every_joint(fits):
    figure = draw_positions(make_impact())
    first, second = figure.axes[:2]
    assert figure.get_supylabel() == "mrad from the position at the impact"
    for axes, joint in ((first, 0), (second, 1)):
        lines = lines_of(axes)
        assert {name: color_of(line) for name, line in lines.items()} == {
            "recorded position": "muted", "fit before": "before", "fit after": "estimated", "prediction": "predicted",
        }  # fmt: skip
        motion = SHOWN**2 if joint == 0 else np.where(SHOWN < 0.0, -0.72 * SHOWN, -0.05 * SHOWN)
        np.testing.assert_allclose(lines["recorded position"].get_data(), [1e3 * SHOWN, 1e3 * motion], atol=1e-9)
        origin = (1.0, -2.0)[joint]
        expected = 1e3 * (10**joint * np.array([1.95, 1.99]) - origin)
        np.testing.assert_allclose(lines["fit before"].get_data(), [[-50, -10], expected])
        expected = 1e3 * (10**joint * np.array([3.004, 3.1]) - origin)
        np.testing.assert_allclose(lines["fit after"].get_data(), [[4, 100], expected])
        # 40 ms at 0.2 and 0.35 rad/s: 8 and 14 mrad.
        np.testing.assert_allclose(lines["prediction"].get_data(), [[0, 40], [0, (8.0, 14.0)[joint]]])
    assert "prediction" not in lines_of(draw_positions(make_impact(prediction=None)).axes[0])


def arrows(axes):
    """Tips of the arrows by colour; all of them start at the origin."""
    found = {}
    for arrow in axes.texts:
        if arrow.get_text() == "" and arrow.arrowprops is not None:
            assert arrow.get_position() == (0.0, 0.0)
            found[next(n for n, c in COLORS.items() if c == arrow.arrowprops["color"])] = arrow.xy
    return found


def test_contact_point_from_the_side_and_from_above():
    figure = draw_contact_point(make_impact())
    side, top = figure.axes
    assert [axes.get_title("left") for axes in (side, top)] == ["from the side", "onto the surface"]
    assert side.get_ylabel() == "along the normal, m/s" and top.get_ylabel() == "across the slip, m/s"
    assert side.get_xlabel() == top.get_xlabel() == "along the slip, m/s"
    # The slip before is (0.11, 0, 0.33); the normal is y; across is normal x slip = (3, 0, -1) / sqrt 10.
    slip, across = np.array([1.0, 0.0, 3.0]) / 10**0.5, np.array([3.0, 0.0, -1.0]) / 10**0.5
    velocities = {"before": (0.11, -1.44, 0.33), "predicted": (0.2, 0.7, 0.6), "estimated": (0.5, -0.1, 1.5)}
    for name, velocity in velocities.items():
        np.testing.assert_allclose(arrows(side)[name], [slip @ velocity, velocity[1]], atol=1e-12)
    tip = [slip @ velocities["predicted"], across @ velocities["predicted"]]
    assert np.hypot(*tip) > 0.1
    # One arrow has no length across; small ones are rings.
    for name in ("before", "estimated", "predicted"):
        np.testing.assert_allclose(arrows(top)[name], [slip @ velocities[name], across @ velocities[name]], atol=1e-12)
    impulse = lines_of(side)["impulse in its cone"].get_xydata()[1]
    # Along the impulse (0.4, 1.7, -0.6) as seen from the side.
    assert impulse[0] / impulse[1] == pytest.approx(slip @ (0.4, 1.7, -0.6) / 1.7)
    assert impulse[1] > 0.0
    cone = next(patch for patch in side.patches if isinstance(patch, Polygon) and patch.get_alpha() == 0.1)
    corners = np.abs(cone.get_xy()[1:3])
    np.testing.assert_allclose(corners[:, 0] / corners[:, 1], 0.3)
    assert list(legend_of(figure)) == ["before", "predicted after", "estimated after", "impulse in its cone"]
    for axes in (side, top):
        low, high = axes.get_xlim()
        assert low == -high and axes.get_ylim() == (low, high)


def test_contact_point_without_estimate_friction_or_impulse():
    prediction = make_impact().prediction
    smooth = prediction._replace(contact=replace(prediction.contact, friction=0.0))
    figure = draw_contact_point(make_impact(estimate=None, prediction=smooth))
    assert list(legend_of(figure)) == ["before", "predicted after", "impulse"]
    none = prediction._replace(
        contact_impulse=prediction.contact_impulse._replace(normal=0.0, tangent_1=0.0, tangent_2=0.0)
    )
    assert "impulse" not in " ".join(legend_of(draw_contact_point(make_impact(prediction=none))))


def test_words_for_who_cannot_see_them(fits):
    words = {figure.name: figure.alt for figure in impact_figures(make_impact())}
    assert list(words) == ["velocities", "positions", "contact"]
    assert "The largest jump is that of b, from -0.720 to -0.050 rad/s" in words["velocities"]
    assert "at most 8 microradians" in words["positions"]
    # Norms of (0.11, -1.44, 0.33), (0.2, 0.7, 0.6), (0.5, -0.1, 1.5).
    assert "before 1.481, predicted after 0.943, estimated after 1.584 m/s" in words["contact"]
    few = impact_figures(make_impact(prediction=None))
    assert [figure.name for figure in few] == ["velocities", "positions"]


def test_each_figure_draws_what_its_name_says(fits):
    titles = {figure.name: figure.draw().axes[0].get_title("left") for figure in impact_figures(make_impact())}
    assert titles == {"velocities": "a", "positions": "a", "contact": "from the side"}
    units = [figure.draw().get_supylabel() for figure in impact_figures(make_impact())[:2]]
    assert units == ["rad/s", "mrad from the position at the impact"]


def test_the_fits_are_drawn_on_the_samples_that_they_used():
    impact = make_impact()
    found = estimate(impact.window.times, impact.window.positions, TIME, method="cubic")
    lines = lines_of(draw_velocities(replace(impact, estimate=found)).axes[1])
    assert lines["fit after"].get_xdata()[0] >= 0.0 > lines["fit before"].get_xdata()[-1]
    np.testing.assert_allclose(lines["fit after"].get_ydata(), -0.05, atol=1e-6)
    np.testing.assert_allclose(lines["fit before"].get_ydata(), -0.72, atol=1e-6)


def impact_of(*names):
    """An impact of as many joints, of which only the motion is known."""
    count, motion = len(names), make_impact().window
    window = ArmSamples(motion.times, np.outer(motion.times - TIME, 1.0 + np.arange(count)), None)
    event = replace(make_impact().event, velocity_before=np.zeros(count), position=np.zeros(count))
    bare = {"estimate": None, "prediction": None, "prediction_std": None, "ablation": ()}
    return make_impact(joint_names=names, position=np.zeros(count), window=window, event=event, **bare)


def times_shown(axes):
    """Labels of the time axis that can be read."""
    return [label.get_text() for label in axes.get_xticklabels() if label.get_visible() and label.get_text()]


@pytest.mark.parametrize(("names", "last"), [("ab", "ab"), ("abc", "bc"), ("abcd", "cd")])
def test_times_stand_below_the_last_panel_of_each_column_and_nowhere_else(names, last):
    figure = draw_positions(impact_of(*names))
    FigureCanvasAgg(figure).draw()
    panels = {axes.get_title("left"): axes for axes in figure.axes if axes.axison}
    assert "".join(panels) == names
    assert "".join(name for name, axes in panels.items() if times_shown(axes)) == last
    columns = {name: round(axes.get_position().x0, 3) for name, axes in panels.items()}
    assert len({columns[name] for name in names[::2]}) == len({columns[name] for name in names[1::2]}) == 1
    assert figure.get_figheight() == pytest.approx(0.5 + 1.2 * (len(names) // 2 + 1))


def test_nothing_is_cut_off_or_drawn_over_another_panel(fits):
    impact = make_impact()
    for draw in (draw_velocities, draw_positions, draw_contact_point):
        figure = draw(impact)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        # All of them stand in columns of one width.
        assert figure.get_figwidth() == 4.9 and 2.5 < figure.get_figheight() < 3.2
        renderer = canvas.get_renderer()
        whole = figure.bbox
        panels = [axes for axes in figure.axes if axes.axison]
        boxes = [axes.get_tightbbox(renderer) for axes in panels]
        legends = [axes.get_legend() for axes in figure.axes if axes.get_legend()] + figure.legends
        boxes += [legend.get_window_extent(renderer) for legend in legends]
        labels = [label for label in (figure._supxlabel, figure._supylabel) if label is not None]
        boxes += [label.get_window_extent(renderer) for label in labels]
        for index, box in enumerate(boxes):
            assert box.x0 >= 0.0 and box.y0 >= 0.0 and box.x1 <= whole.x1 and box.y1 <= whole.y1, (draw, index)
            for other in boxes[:index]:
                assert not box.overlaps(other), (draw, index)
        # Most of the width is panels.
        columns = {round(axes.get_position().x0, 3): axes.get_position().width for axes in panels}
        assert sum(columns.values()) > 0.6


def test_letters_can_be_read_and_lines_be_told_from_bands(fits):
    for figure in impact_figures(make_impact()):
        drawn = figure.draw()
        FigureCanvasAgg(drawn).draw()
        texts = [text for text in drawn.findobj(Text) if text.get_text()]
        assert all(8.0 <= text.get_fontsize() <= 10.0 for text in texts)
        widths = [line.get_linewidth() for axes in drawn.axes for line in axes.get_lines()]
        assert all(0.5 <= width <= 3.0 for width in widths)
        sizes = [line.get_markersize() for axes in drawn.axes for line in axes.get_lines()]
        assert all(2.0 <= size <= 6.0 for size in sizes)


def test_the_view_of_the_contact_point_holds_every_arrow_with_a_margin():
    figure = draw_contact_point(make_impact())
    side, top = figure.axes
    slip, across = np.array([1.0, 0.0, 3.0]) / 10**0.5, np.array([3.0, 0.0, -1.0]) / 10**0.5
    velocities = np.array([(0.11, -1.44, 0.33), (0.2, 0.7, 0.6), (0.5, -0.1, 1.5)])
    reach = 1.2 * np.abs(np.concatenate([velocities @ slip, velocities[:, 1]])).max()
    assert side.get_xlim() == pytest.approx((-reach, reach))
    above = 1.2 * np.abs(np.concatenate([velocities @ slip, velocities @ across])).max()
    assert top.get_xlim() == pytest.approx((-above, above))
    # The cone and the impulse reach nine tenths of it, as long as their edges are.
    cone = next(patch for patch in side.patches if patch.get_alpha() == 0.1).get_xy()
    np.testing.assert_allclose(np.hypot(*cone[1:3].T), 0.9 * reach)
    assert cone[0].tolist() == [0.0, 0.0] and cone[1, 0] == -cone[2, 0] < 0.0 < cone[1, 1] == cone[2, 1]
    along, line = np.array([0.4, 1.7, -0.6]), lines_of(side)["impulse in its cone"].get_xydata()
    assert line[0].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(line[1], 0.9 * reach * np.array([slip @ along, 1.7]) / np.linalg.norm(along))
    # The solid half below the surface, and words at the corners.
    (solid,) = [patch for patch in side.patches if patch.get_alpha() is None]
    assert solid.get_xy()[:, 1].max() == 0.0 and (solid.get_xy().min(axis=0) < -reach).all()
    assert solid.get_xy()[:, 0].max() > reach
    words = {text.get_text(): text.get_position() for text in side.texts if text.get_text()}
    assert words["leaving"] == pytest.approx((-0.95 * reach, 0.95 * reach))
    assert words["approaching"] == pytest.approx((-0.95 * reach, -0.95 * reach))


def test_a_velocity_of_nothing_is_a_ring():
    prediction = make_impact().prediction
    stopped = make_impact(estimate=None, prediction=prediction._replace(velocity_after=np.zeros(2)))
    side, _ = draw_contact_point(stopped).axes
    assert list(arrows(side)) == ["before"]
    ring = next(line for line in side.get_lines() if line.get_fillstyle() == "none")
    assert (color_of(ring), ring.get_xydata().tolist()) == ("predicted", [[0.0, 0.0]])


@pytest.mark.parametrize("normal", [(0.0, 0.0, 2.0), (0.6, 0.0, 0.8), (0.0, -1.0, 0.0)])
def test_axes_of_an_approach_are_slip_across_and_normal(normal):
    normal = np.array(normal)
    unit = normal / np.linalg.norm(normal)
    velocity = np.array([0.3, 0.2, -0.5])
    axes = figures._approach_axes(normal, velocity)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) * (1 if axes[0] @ np.cross(axes[1], unit) > 0 else -1) == pytest.approx(1.0)
    np.testing.assert_allclose(axes[2], unit)
    np.testing.assert_allclose(axes[1], np.cross(unit, axes[0]), atol=1e-12)
    # The slip is all along the first of them.
    along, across, closing = axes @ velocity
    assert along > 0.0 and across == pytest.approx(0.0, abs=1e-12) and closing == pytest.approx(unit @ velocity)
    # Straight into the surface there is no slip; any axis along the surface will do.
    straight = figures._approach_axes(normal, -0.7 * unit)
    np.testing.assert_allclose(straight @ straight.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(straight[2], unit)


def test_words_for_what_is_predicted_only_and_for_nothing():
    words = {figure.name: figure.alt for figure in impact_figures(make_impact(estimate=None))}
    # Without an estimate the velocity before is the detector's: 0.15 and -0.75.
    assert "The largest jump is that of b, from -0.750 to 0.350 rad/s." in words["velocities"]
    assert "microradians" not in words["positions"]
    nothing = impact_figures(make_impact(estimate=None, prediction=None))
    assert "largest jump" not in nothing[0].alt
    unknown = replace(make_impact().estimate, residual_rms=np.array([1e-6, np.nan]))
    assert "microradians" not in impact_figures(make_impact(estimate=unknown))[1].alt


def test_names_with_dollar_signs_are_drawn_as_they_are():
    impact = impact_of("a$x$", "b$y^2$")
    with figures.figure_style():
        drawn = draw_positions(impact)
        drawn.draw_without_rendering()
        assert not any(text.get_parse_math() for text in drawn.findobj(Text) if "$" in text.get_text())
    assert [axes.get_title("left") for axes in drawn.axes[:2]] == ["a$x$", "b$y^2$"]
