"""Tables of joint states: text, Parquet, NumPy, HDF5 and MATLAB files, and which of their columns is what."""
