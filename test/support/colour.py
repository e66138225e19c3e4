"""What a colour looks like to others: WCAG's contrast, and distances as people with a colour deficiency see them."""

import numpy as np
from numpy.typing import NDArray

TEXT, GRAPHICS = 4.5, 3.0
"""Least contrast of text and of graphics, WCAG 2.1 level AA: 1.4.3 and 1.4.11."""

DISTINCT = 10.0
"""Least distance in CIELAB of colours that are told apart side by side; 2.3 is just noticeable."""

# Machado, Oliveira and Fernandes 2009, severity 1: on linear RGB.
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Of sRGB with the white of D65, IEC 61966-2-1.
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> NDArray[np.float64]:
    """Linear RGB (3,) of `#rrggbb`."""
    encoded = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255.0
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def contrast(first: str, second: str) -> float:
    """WCAG's contrast ratio of two colours, 1 to 21."""
    darker, lighter = sorted(float(_TO_XYZ[1] @ linear(colour)) for colour in (first, second))
    return (lighter + 0.05) / (darker + 0.05)


def blended(colour: str, background: str, opacity: float) -> str:
    """What a half-transparent colour shows on a background; blended as sRGB, as browsers and matplotlib do."""
    pairs = ((int(colour[k : k + 2], 16), int(background[k : k + 2], 16)) for k in (1, 3, 5))
    return "#" + "".join(f"{round(opacity * above + (1.0 - opacity) * below):02x}" for above, below in pairs)


def seen(colour: str, deficiency: str) -> NDArray[np.float64]:
    """CIELAB (3,) of a colour as it is seen with a deficiency."""
    rgb = np.clip(DEFICIENCIES[deficiency] @ linear(colour), 0.0, 1.0)
    ratio = _TO_XYZ @ rgb / _TO_XYZ.sum(axis=1)
    root = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116.0 * root[1] - 16.0, 500.0 * (root[0] - root[1]), 200.0 * (root[1] - root[2])])


def distance(first: str, second: str) -> float:
    """Least distance of two colours in CIELAB over all kinds of sight."""
    return min(float(np.linalg.norm(seen(first, kind) - seen(second, kind))) for kind in DEFICIENCIES)
