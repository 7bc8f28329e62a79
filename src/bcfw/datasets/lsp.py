"""fetch_lsp and convert_lsp: joints of people in the Leeds Sports Pose data (coordinates, no images)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from bcfw.datasets.convert.writing import original, save_arrays
from bcfw.datasets.locate import Source
from bcfw.errors import InputError
from bcfw.storage.files import PathLike

FILE = "lsp/lsp_joints.npz"

SOURCE = Source(
    name="lsp",
    title="Leeds Sports Pose",
    files=(FILE,),
    origin=(
        "joints.mat of the Leeds Sports Pose data set in original size (lsp_dataset_original.zip) and joints.mat of "
        "its extension (lspet_dataset.zip), by S. Johnson and M. Everingham (http://sam.johnson.io/research/lsp.html)"
    ),
    originals={"joints": "lsp/joints.mat", "extended": "lspet/joints.mat"},
)

#: Number of images at the beginning of the data set that are the training part; the other images are the test part.
N_TRAIN = 1000

JOINT_NAMES = (
    *("R ankle", "R knee", "R hip", "L hip", "L knee", "L ankle", "R wrist"),
    *("R elbow", "R shoulder", "L shoulder", "L elbow", "L wrist", "Neck", "Head top"),
)

#: Pairs of joints that form the body, a tree: the head, and on each side arm, trunk and leg.
SKELETON = (
    (12, 13),
    (12, 8),
    (8, 7),
    (7, 6),
    (8, 2),
    (2, 1),
    (1, 0),
    (12, 9),
    (9, 10),
    (10, 11),
    (9, 3),
    (3, 4),
    (4, 5),
)

DESCR = """\
Leeds Sports Pose: {n_train} training and {n_test} test people, {n_joints} joints each; {n_extended} more people.

People doing sports, found on Flickr, with the locations of their joints in the image, marked by hand: left and right as
the person has them. The first 1000 train, the others test, as in the literature. The extension has harder poses, marked
less exactly. This is the part of the data set without images: what an image shows of a joint has to be made up
(bcfw.datasets.synthetic_poses).

Source: http://sam.johnson.io/research/lsp.html. It states no licence: use it for research, do not redistribute it.
Reference: S. Johnson and M. Everingham, Clustered pose and nonlinear appearance models for human pose estimation, BMVC
2010.
"""


@SOURCE.fitting()
def fetch_lsp() -> Bunch:
    """Return the joints of the Leeds Sports Pose data set, from ``BCFW_DATA`` or the user's cache.

    Returns
    -------
    sklearn.utils.Bunch
        y_train, y_test, y_extended : (1000, 14, 2), (1000, 14, 2) and (10000, 14, 2) float arrays
            Locations (x, y) of the joints in pixels, x to the right and y downwards.
        X_train, X_test, X_extended : int arrays with one row of 14 per person
            1 for a joint that cannot be seen, else 0. In the extension, the location of an invisible joint is
            meaningless. There are no images: :func:`synthetic_poses` makes inputs for
            :class:`bcfw.models.PictorialTree` from the joints.
        target_names : list of str
            Names of the joints.
        edges : (13, 2) int array
            Pairs of joints that form the body, a tree.
        DESCR : str
            Description of the data, with source and reference.

    Raises
    ------
    DataNotFound
        If the data are not on this machine; the message says where to get them.

    Examples
    --------
    >>> from bcfw.datasets import fetch_lsp
    >>> people = fetch_lsp()  # doctest: +SKIP
    >>> people.y_train.shape, people.target_names[0]  # doctest: +SKIP
    ((1000, 14, 2), 'R ankle')
    """
    (path,) = SOURCE.locate()
    names = ("lsp_xy", "lsp_flag", "lspet_xy", "lspet_visible", "joint_names")
    places, hidden, more, visible, joint_names = SOURCE.arrays(path, *names)
    parts = {
        "train": (hidden[:N_TRAIN], places[:N_TRAIN]),
        "test": (hidden[N_TRAIN:], places[N_TRAIN:]),
        "extended": (1 - visible.astype(np.int64), more),
    }
    bunch = Bunch()
    for part, (flags, xy) in parts.items():
        bunch[f"X_{part}"] = flags.astype(np.int64)
        bunch[f"y_{part}"] = xy.astype(np.float64).reshape(*flags.shape, 2)
    bunch.target_names = joint_names.tolist()
    bunch.edges = np.array(SKELETON)
    counts = {f"n_{part}": len(flags) for part, (flags, _) in parts.items()}
    bunch.DESCR = DESCR.format(**counts, n_joints=len(bunch.target_names))
    return bunch


def convert_lsp(joints: PathLike, extended: PathLike, out: PathLike | None = None) -> list[Path]:
    """Convert the files ``joints.mat`` of the data set and of its extension.

    Both are MATLAB files with one array ``joints``. In the data set its shape is (3, 14, n), with rows x, y and a flag
    that is 1 for an occluded joint. In the extension its shape is (14, 3, n), with columns x, y and a flag that is 1
    for a visible joint.

    Parameters
    ----------
    joints, extended : path
        The original files.
    out : path, optional
        Data folder to write into; the user's cache by default.

    Returns
    -------
    list of Path
        The file written.
    """
    first = read_joints(original(joints, "joints"), (3, len(JOINT_NAMES)))
    second = read_joints(original(extended, "extended"), (len(JOINT_NAMES), 3)).swapaxes(0, 1)
    arrays: dict[str, np.ndarray] = {"joint_names": np.array(JOINT_NAMES)}
    for name, flag, found in (("lsp", "flag", first), ("lspet", "visible", second)):
        by_person = found.transpose(2, 1, 0)
        arrays[f"{name}_xy"] = by_person[:, :, :2].astype(np.float32)
        arrays[f"{name}_{flag}"] = (by_person[:, :, 2] > 0.5).astype(np.uint8)
    return [save_arrays(out, FILE, arrays)]


def read_joints(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """Return the array ``joints`` of a MATLAB file; its shape is ``shape`` and any number of people."""
    from scipy.io import loadmat

    try:
        with path.open("rb") as file:
            array = np.asarray(loadmat(file)["joints"])
    except FileNotFoundError:
        raise
    except Exception as error:  # for other files, scipy may raise anything
        raise InputError(f"{path} is not a MATLAB file with an array 'joints' ({error})") from error
    if array.ndim != 3 or array.shape[:2] != shape or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise InputError(
            f"{path}: 'joints' should be finite numbers of shape ({shape[0]}, {shape[1]}, n), got {array.dtype} of "
            f"shape {array.shape}"
        )
    return array
