from dataclasses import replace

import numpy as np
import pytest

from impact_aware.recordings.ablation import AblationGroup
from impact_aware.report.ablation import ablation_tables


def _group(inertia, friction, degrees, label="type 1", unsure=0.01):
    errors = np.radians(degrees)
    return AblationGroup(
        label=label,
        robot="two",
        joint_names=("a", "b"),
        inertia=inertia,
        friction=friction,
        count=5,
        joint_error_mean=errors,
        joint_error_max=3.0 * errors,
        error_mean=float(np.linalg.norm(errors)),
        error_max=3.0 * float(np.linalg.norm(errors)),
        velocity_before_mean=np.radians([22.87, -0.1]),
        velocity_after_mean=np.radians([14.74, 24.01]),
        mean_error=np.radians([unsure, unsure]),
    )


# Joints 2 and 6 of the first row of Rey Arias 2024's Tables II and III.
GROUPS = (
    _group("M+B_rho", 0.3, [0.46, 10.06]),
    _group("M+B_theta", 0.3, [0.73, 2.97]),
    _group("M+B_theta", 0.0, [3.26, 2.18]),
)


def test_table_two_marks_what_differs_by_a_degree():
    table = ablation_tables(GROUPS)[0]
    assert table.variants == ("M+B_theta", "M+B_rho")
    (line,) = table.lines
    assert [cell.text for cell in line.cells] == ["0.73", "0.46", "2.97", "10.06"]
    # 0.27 deg/s apart is nothing; at the other joint B_theta is better, as the paper's green cells.
    assert [cell.verdict for cell in line.cells] == ["", "", "better", ""]
    assert line.velocities == ("14.74 (22.87)", "24.01 (\u22120.10)")
    assert line.count == 5
    # Norms of (0.73, 2.97) and (0.46, 10.06) deg/s.
    assert [(cell.text, cell.verdict) for cell in line.norms] == [("3.06", "better"), ("10.07", "")]


def test_table_three_is_by_friction_with_the_first_inertia():
    table = ablation_tables(GROUPS)[1]
    assert table.variants == ("μ = 0.3", "μ = 0")
    assert [cell.verdict for cell in table.lines[0].cells] == ["better", "", "", ""]
    assert table.lines[0].velocities == ()


@pytest.mark.parametrize(("unsure", "verdict"), [(0.01, "better"), (0.9, "better"), (1.0, "")])
def test_the_better_second_column_is_marked_where_the_data_decide(unsure, verdict):
    # 3.11^2 - 1.23^2 = 8.16 are nine squares of 0.952.
    pairs = {"M+B_theta": [3.11, 1.0], "M+B_rho": [1.23, 1.0]}
    (table,) = ablation_tables([_group(inertia, 0.3, errors, unsure=unsure) for inertia, errors in pairs.items()])
    assert [cell.verdict for cell in table.lines[0].cells] == ["", verdict, "", ""]
    assert [cell.verdict for cell in table.lines[0].norms] == ["", verdict]


def test_a_label_without_one_variant_shows_a_gap():
    (table,) = ablation_tables([*GROUPS[:2], _group("M+B_theta", 0.3, [1.0, 1.0], label="type 2")])
    assert [cell.text for cell in table.lines[1].cells] == ["1.00", "–", "1.00", "–"]


@pytest.mark.parametrize("groups", [(), GROUPS[:1]])
def test_nothing_to_compare_gives_no_table(groups):
    assert ablation_tables(groups) == []


@pytest.mark.parametrize(("difference", "marked"), [(0.99, None), (1.01, 0), (-0.99, None), (-1.01, 1)])
def test_a_degree_per_second_is_essential(difference, marked):
    groups = [_group("M+B_theta", 0.3, [5.0, 1.0]), _group("M+B_rho", 0.3, [5.0 + difference, 1.0])]
    (table,) = ablation_tables(groups)
    assert [cell.verdict for cell in table.lines[0].cells] == ["better" if k == marked else "" for k in range(4)]


def test_by_inertia_is_with_the_largest_friction_and_all_inertias_in_order():
    errors = {"M": 0.0, "M+B_rho": 1.0}
    groups = [_group(name, mu, [mu + error, 1.0]) for mu in (0.0, 0.3) for name, error in errors.items()]
    groups.append(_group("M+B_theta", 0.3, [9.0, float("nan")]))
    # By friction there is nothing to compare: the first inertia has one only.
    (first,) = ablation_tables(groups)
    assert (first.title, first.variants) == ("By inertia", ("M+B_theta", "M+B_rho", "M"))
    assert [cell.text for cell in first.lines[0].cells] == ["9.00", "1.30", "0.30", "\u2013", "1.00", "1.00"]
    # The third column is never marked, and what is not known differs from nothing.
    assert [cell.verdict for cell in first.lines[0].cells] == ["", "better", "", "", "", ""]


def test_robots_are_told_apart_where_there_are_several():
    other = [replace(group, robot="three") for group in GROUPS]
    titles = [table.title for table in ablation_tables([*GROUPS, *other])]
    assert titles == ["By inertia, two", "By friction, two", "By inertia, three", "By friction, three"]
    assert [table.title for table in ablation_tables(GROUPS)] == ["By inertia", "By friction"]
