"""The one array type of this package: double precision, any shape; docstrings give the shape."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
