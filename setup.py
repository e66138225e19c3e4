import sys
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = "impact_aware"
HERE = Path(__file__).resolve().parent
NODES = (
    "bag_recorder",
    "command_watchdog",
    "franka_fci_relay",
    "graph_probe",
    "impact_detector",
    "impact_markers",
    "jump_predictor",
    "kuka_fri_relay",
    "node_group",
    "reference_field",
    "rs_controller",
    "run_monitor",
    "sim_robot",
)
# What the library and the commands without ROS import; package.xml names the same for rosdep, and ROS besides.
REQUIRED = (
    "h5py",
    "jinja2",
    "lz4",
    "matplotlib",
    "mcap",
    "numba",
    "numpy>=1.26",
    "pin>=3.0",
    "PyYAML",
    "rosbags>=0.10",
    "scipy",
    "tqdm",
    "zstandard",
)
# pip makes the command itself, in the same place.
WHEEL = "bdist_wheel" in sys.argv


def installed_files():
    """Every file of the share folder, as setuptools wants them: (target folder, files of it)."""
    by_folder = {}
    for top in ("launch", "config", "rviz"):
        for path in sorted((HERE / top).rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                relative = path.relative_to(HERE)
                by_folder.setdefault(f"share/{PACKAGE}/{relative.parent}", []).append(str(relative))
    return sorted(by_folder.items())


setup(
    name=PACKAGE,
    version="0.9.0",
    description="Detect, predict and control the velocity jump of a robot that makes contact at speed",
    maintainer="impact_aware developers",
    maintainer_email="impact-aware@example.org",
    license="Apache-2.0",
    python_requires=">=3.11",
    install_requires=REQUIRED,
    # Without `test` naming pytest, `colcon test` would look for unittest's tests, and find none.
    extras_require={
        "completion": ["argcomplete"],
        # 80 MB and 165 MB that neither `predict` nor `analyze` of a bag or a CSV needs.
        "parquet": ["pyarrow"],
        "rerun": ["rerun-sdk>=0.41"],
        "simulation": ["mujoco>=3.2"],
        # Another engine for `validate engines`, 60 MB.
        "engines": ["drake>=1.51"],
        "franka": ["pylibfranka>=0.20,<0.22"],
        "test": ["hypothesis", "pytest"],
    },
    packages=find_packages(include=[PACKAGE, f"{PACKAGE}.*"]),
    package_data={PACKAGE: ["py.typed"], f"{PACKAGE}.report": ["templates/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        # ros2 run finds its executables in lib/; a command of its own belongs on the PATH of a sourced workspace.
        *([] if WHEEL else [("bin", ["bin/impact-aware"])]),
        *installed_files(),
    ],
    entry_points={
        "console_scripts": [
            f"impact-aware = {PACKAGE}.cli.main:main",
            # The command that people with recordings only look for among a package's executables.
            f"analyze = {PACKAGE}.cli.analyze:main",
            *(f"{node} = {PACKAGE}.bringup.start:{node}" for node in NODES),
        ],
    },
    zip_safe=False,
)
