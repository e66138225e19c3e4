"""What the figures of an impact show: data, units, labels and colours of everything drawn, from known numbers."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Polygon

from impact_aware.estimation.estimate import estimate
from impact_aware.recordings.impact_fit import FitCurve
from impact_aware.report import figures
from impact_aware.report.figures import (
    COLORS,
    draw_contact_point,
    draw_positions,
    draw_residual,
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


def test_residual_up_to_the_detection():
    (axes,) = draw_residual(make_impact()).axes
    assert (axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel()) == (
        "kink", "time from the impact, ms", "residual over bound",
    )  # fmt: skip
    curve = next(line for line in axes.get_lines() if color_of(line) == "before")
    np.testing.assert_allclose(curve.get_data(), [[-2, 1, 3], [0.25, 0.5, 4.5]], atol=1e-9)
    # The bound is 1, the impact at 0 ms, its detection 3 ms after it.
    bound = next(line for line in axes.get_lines() if color_of(line) == "predicted")
    assert set(bound.get_ydata()) == {1.0}
    upright = {color_of(line): line.get_xdata()[0] for line in axes.get_lines() if color_of(line) in ("muted", "ink")}
    assert upright == pytest.approx({"muted": 0.0, "ink": 3.0})
    assert {text.get_text().strip() for text in axes.texts} == {"bound", "known 3.0 ms after the impact"}
    assert axes.get_ylim() == pytest.approx((0.0, 1.12 * 4.5))
    assert axes.get_xlim() == pytest.approx((-2.0, 7.0))


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
    assert list(words) == ["velocities", "positions", "contact", "detector"]
    assert "The largest jump is that of b, from -0.720 to -0.050 rad/s" in words["velocities"]
    assert "at most 8 microradians" in words["positions"]
    # Norms of (0.11, -1.44, 0.33), (0.2, 0.7, 0.6), (0.5, -0.1, 1.5).
    assert "before 1.481, predicted after 0.943, estimated after 1.584 m/s" in words["contact"]
    assert "kink" in words["detector"] and "factor of 4.5" in words["detector"] and "3.0 ms after" in words["detector"]
    few = impact_figures(make_impact(prediction=None, detector_residual=None))
    assert [figure.name for figure in few] == ["velocities", "positions"]


def test_each_figure_draws_what_its_name_says(fits):
    titles = {figure.name: figure.draw().axes[0].get_title("left") for figure in impact_figures(make_impact())}
    assert titles == {"velocities": "a", "positions": "a", "contact": "from the side", "detector": "kink"}
    units = [figure.draw().get_supylabel() for figure in impact_figures(make_impact())[:2]]
    assert units == ["rad/s", "mrad from the position at the impact"]


def test_the_fits_are_drawn_on_the_samples_that_they_used():
    impact = make_impact()
    found = estimate(impact.window.times, impact.window.positions, TIME, method="cubic")
    lines = lines_of(draw_velocities(replace(impact, estimate=found)).axes[1])
    assert lines["fit after"].get_xdata()[0] >= 0.0 > lines["fit before"].get_xdata()[-1]
    np.testing.assert_allclose(lines["fit after"].get_ydata(), -0.05, atol=1e-6)
    np.testing.assert_allclose(lines["fit before"].get_ydata(), -0.72, atol=1e-6)
