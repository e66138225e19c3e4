"""Motor inertia, apparent motor inertia and the torque loop's gains that tie them (Rey Arias 2024, II-A)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError


def apparent_motor_inertia(motor_inertia: ArrayLike, torque_gain: ArrayLike) -> Array:
    """Apparent motor inertia B_theta that the torque loop leaves of B_rho (Rey Arias 2024, eqs. 4-6).

    The loop tau_act = u + K_T (u - tau) - K_S dtau turns the motor equation into B_theta ddtheta + ... = u with
    K_T = B_rho B_theta^-1 - I, so B_theta = B_rho (I + K_T)^-1.

    Args:
        motor_inertia: (n,) B_rho, link side, kg m^2.
        torque_gain: (n,) or scalar, K_T, no unit; zero leaves the motor inertia as it is.

    Returns:
        (n,) B_theta, link side, kg m^2.

    Raises:
        InvalidInputError: An inertia that is not positive, or a gain that is negative or not finite.
    """
    b_rho = _positive("motor_inertia", motor_inertia)
    gain = np.asarray(torque_gain, dtype=float)
    if gain.ndim and gain.shape != b_rho.shape:
        raise InvalidInputError("torque_gain", f"{gain.size} values", f"{b_rho.size} or one")
    if not (np.all(np.isfinite(gain)) and np.all(gain >= 0.0)):
        raise InvalidInputError("torque_gain", gain.tolist(), "finite values >= 0")
    return b_rho / (1.0 + gain)


def torque_gain(motor_inertia: ArrayLike, apparent_motor_inertia: ArrayLike) -> Array:
    """Proportional torque gain K_T = B_rho B_theta^-1 - I of the torque loop (Rey Arias 2024, below eq. 5).

    Args:
        motor_inertia: (n,) B_rho, link side, kg m^2.
        apparent_motor_inertia: (n,) B_theta, link side, kg m^2, at most B_rho.

    Returns:
        (n,) K_T, no unit.

    Raises:
        InvalidInputError: Inertias that are not positive, of different number, or B_theta above B_rho.
    """
    b_rho = _positive("motor_inertia", motor_inertia)
    b_theta = _positive("apparent_motor_inertia", apparent_motor_inertia)
    if b_theta.shape != b_rho.shape:
        raise InvalidInputError("apparent_motor_inertia", f"{b_theta.size} values", f"{b_rho.size}")
    if np.any(b_theta > b_rho):
        raise InvalidInputError("apparent_motor_inertia", b_theta.tolist(), f"at most B_rho = {b_rho.tolist()}")
    return b_rho / b_theta - 1.0


def ratio_prior_std(smallest: float, largest: float) -> float:
    """Standard deviation of B_theta, as a share of it, when only a range of B_rho / B_theta is known.

    B_theta is taken from the middle ratio r_0, the true ratio r is as likely anywhere in the range [a, b]: the root
    mean square of r_0 / r - 1. With 4 to 6, which Rey Arias 2024 (above eq. 5) calls typical, it is 0.12. The torque
    loop's gains are set joint by joint, so the joints' errors count as independent.

    Args:
        smallest: a, > 0.
        largest: b, > a.

    Raises:
        InvalidInputError: No such range.
    """
    if not 0.0 < smallest < largest < np.inf:
        raise InvalidInputError("ratio", (smallest, largest), "0 < smallest < largest")
    middle, width = 0.5 * (smallest + largest), largest - smallest
    mean_inverse = np.log(largest / smallest) / width
    mean_square_inverse = 1.0 / (smallest * largest)
    return float(np.sqrt(middle**2 * mean_square_inverse - 2.0 * middle * mean_inverse + 1.0))


def _positive(field: str, values: ArrayLike) -> Array:
    array = np.atleast_1d(np.asarray(values, dtype=float))
    if array.ndim != 1 or not (np.all(np.isfinite(array)) and np.all(array > 0.0)):
        raise InvalidInputError(field, array.tolist(), "one finite value > 0 kg m^2 per joint")
    return array
