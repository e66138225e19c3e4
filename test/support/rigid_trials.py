"""Impacts of the rigid arm by its own impact map, with noise on both velocities: what identification is given."""

from dataclasses import replace

from impact_aware.estimation.experiment import candidate_impacts


def simulate_rigid_trials(robot, rng, count, noise, friction, restitution):
    """`count` impacts at random postures around home."""
    found = candidate_impacts(
        robot, rng, count, friction=friction, restitution=restitution, velocity_error=max(noise, 1e-9)
    )
    return [with_noise(trial, rng, noise) for trial in found]


def with_noise(trial, rng, noise):
    """The impact as a noisy recording shows it; `noise` in rad/s."""
    before, after = (
        velocity + noise * rng.standard_normal(trial.q.size)
        for velocity in (trial.velocity_before, trial.velocity_after)
    )
    return replace(trial, velocity_before=before, velocity_after=after)
