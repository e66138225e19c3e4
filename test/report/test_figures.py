"""Figures of an impact, beyond those that `test_looked_at.py` holds: what is missing, and what must not collide."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.report import figures
from impact_aware.report.figures import (
    draw_contact_point,
    draw_positions,
    draw_velocities,
    figure_style,
    impact_figures,
)
from test.support.hand_made import TIME, make_impact


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def legend_of(figure):
    legends = [axes.get_legend() for axes in figure.axes if axes.get_legend()] + figure.legends
    (legend,) = legends
    return {text.get_text(): handle for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)}


"""Samples that the figures have room for, s."""


@pytest.fixture(autouse=True)
def style():
    with figure_style():
        yield


def test_velocities_without_recorded_ones_are_differences():
    impact = make_impact(window=replace(make_impact().window, velocities=None), estimate=None, prediction=None)
    first = draw_velocities(impact).axes[0]
    lines = lines_of(first)
    assert list(lines) == ["differentiated positions"]
    times, values = lines["differentiated positions"].get_data()
    # Of the square of the time: twice the time.
    np.testing.assert_allclose(values, 2e-3 * times, atol=1e-9)


def test_contact_point_without_estimate_friction_or_impulse():
    prediction = make_impact().prediction
    smooth = prediction._replace(contact=replace(prediction.contact, friction=0.0))
    figure = draw_contact_point(make_impact(estimate=None, prediction=smooth))
    assert list(legend_of(figure)) == ["before", "predicted after", "impulse"]
    none = prediction._replace(
        contact_impulse=prediction.contact_impulse._replace(normal=0.0, tangent_1=0.0, tangent_2=0.0)
    )
    assert "impulse" not in " ".join(legend_of(draw_contact_point(make_impact(prediction=none))))


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


def test_nothing_is_cut_off_or_drawn_over_another_panel():
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


def test_letters_can_be_read_and_lines_be_told_from_bands():
    for figure in impact_figures(make_impact()):
        drawn = figure.draw()
        FigureCanvasAgg(drawn).draw()
        texts = [text for text in drawn.findobj(Text) if text.get_text()]
        assert all(8.0 <= text.get_fontsize() <= 10.0 for text in texts)
        widths = [line.get_linewidth() for axes in drawn.axes for line in axes.get_lines()]
        assert all(0.5 <= width <= 3.0 for width in widths)
        sizes = [line.get_markersize() for axes in drawn.axes for line in axes.get_lines()]
        assert all(2.0 <= size <= 6.0 for size in sizes)


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
