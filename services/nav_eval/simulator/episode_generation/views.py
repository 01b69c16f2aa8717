"""Where a thing is seen from: the places that count as having found it, and a camera for its picture."""

import math

from nav_eval.dataset.episode import Goal, GoalImage, Pose, Quaternion, Vec3
from nav_eval.frames import multiply, quaternion_from_yaw
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.model import SceneObject
from nav_eval.simulator.episode_generation.site import Site
from nav_eval.simulator.episode_generation.standing import Lattice

WITHIN = 1.0  #: metres from a thing's footprint to its view points, as in ObjectNav's datasets
#: metres between view points: closer than the success distance, so that an agent cannot stand between them
CLOSEST, WIDEST = 0.1, 0.25
CAMERA_NEAR, CAMERA_FAR = 0.6, 2.4  #: metres from a thing's footprint to the camera of its picture
CAMERA_SEES = 0.7  #: share of a thing that its picture must show
FLAT = 0.1  #: metres; thinner things hang on walls
PICTURE = 512  #: pixels on each side
HFOV = (60.0, 75.0, 90.0)


def view_lattice(site: Site) -> Lattice:
    """The places that may become view points under the benchmark's success distance."""
    spacing = min(max(site.benchmark.evaluation.success_distance, CLOSEST), WIDEST)
    return Lattice(site.ground, site.around.semantics, spacing=spacing)


def seen_goal(thing: SceneObject, site: Site, lattice: Lattice) -> Goal | None:
    """A thing with everywhere that one sees it from nearby; None for what nobody sees."""
    seen = site.in_sight_of(thing, lattice.around(thing, within=WITHIN))
    if not seen:
        return None
    return Goal(
        position=seen[0].place,
        object_id=str(thing.object_id),
        category=thing.category,
        view_points=tuple(Pose(_short(place), _rounded(looking(place, thing.center))) for _, place in seen),
    )


def picture_of(thing: SceneObject, site: Site, draw: Draw) -> GoalImage | None:
    """A camera at the robot's eye height that shows the thing whole; None where there is no room for one."""
    around = site.around.lattice.around(thing, within=CAMERA_FAR)
    far_enough = [beside.place for beside in around if beside.metres >= CAMERA_NEAR]
    for place in draw.shuffled(far_enough):
        eye = _short(site.eye(place))
        hfov = draw.choice(HFOV)
        if _fits(thing, eye, hfov) and site.around.sight.share_seen(eye, thing) >= CAMERA_SEES:
            rotation = multiply(looking(eye, thing.center), _pitch(eye, thing.center))
            return GoalImage(pose=Pose(eye, _rounded(rotation)), hfov=hfov, width=PICTURE, height=PICTURE)
    return None


def looking(place: Vec3, target: Vec3) -> Quaternion:
    """Turned towards a target, level."""
    return quaternion_from_yaw(math.atan2(place[0] - target[0], place[2] - target[2]))


def _pitch(eye: Vec3, target: Vec3) -> Quaternion:
    up = math.atan2(target[1] - eye[1], math.hypot(target[0] - eye[0], target[2] - eye[2]))
    return (math.sin(up / 2), 0.0, 0.0, math.cos(up / 2))


def _fits(thing: SceneObject, eye: Vec3, hfov: float) -> bool:
    """Neither cut off nor a dot, and flat things not from the side."""
    angle = 2 * math.degrees(math.atan2(max(thing.size) / 2, math.dist(eye, thing.center)))
    return 0.15 * hfov <= angle <= 0.85 * hfov and _faces(thing, eye)


def _faces(thing: SceneObject, eye: Vec3) -> bool:
    """Things that hang on a wall are seen from before it."""
    width, _, depth = thing.size
    if min(width, depth) >= FLAT:
        return True
    x, z = abs(eye[0] - thing.center[0]), abs(eye[2] - thing.center[2])
    return x >= z if width < depth else z >= x


def _short(place: Vec3) -> Vec3:
    """Tenths of millimetres: thousands of view points go into a file."""
    return (round(place[0], 4), round(place[1], 4), round(place[2], 4))


def _rounded(rotation: Quaternion) -> Quaternion:
    x, y, z, w = (round(value, 6) + 0.0 for value in rotation)
    return (x, y, z, w)
