"""Names of Habitat's physics. Only velocity control is real: habitat-lab moves with it on the navigation mesh."""

from enum import Enum
from typing import Any

import numpy as np

import magnum as mn
from habitat_sim.rigid_state import RigidState
from nav_eval_habitat.scope import make_placeholder


class MotionType(Enum):
    UNDEFINED = -1
    STATIC = 0
    KINEMATIC = 1
    DYNAMIC = 2


class PhysicsSimulationLibrary(Enum):
    NoPhysics = 0
    Bullet = 1


class CollisionGroups(Enum):
    Default = 1
    Static = 2
    Kinematic = 4
    Dynamic = 8
    Robot = 16
    Noncollidable = 32
    UserGroup0 = 64
    UserGroup1 = 128
    UserGroup2 = 256
    UserGroup3 = 512
    UserGroup4 = 1024
    UserGroup5 = 2048
    UserGroup6 = 4096
    UserGroup7 = 8192
    UserGroup8 = 16384
    UserGroup9 = 32768


class JointType(Enum):
    Revolute = 0
    Prismatic = 1
    Spherical = 2
    Planar = 3
    Fixed = 4
    Invalid = 5


class JointMotorType(Enum):
    SingleDof = 0
    Spherical = 1


class RigidConstraintType(Enum):
    PointToPoint = 0
    Fixed = 1


class VelocityControl:
    """Speeds that are held for a while: linear in m/s, angular in rad/s about each axis."""

    def __init__(self) -> None:
        self.linear_velocity: Any = mn.Vector3()
        self.angular_velocity: Any = mn.Vector3()
        self.controlling_lin_vel = self.lin_vel_is_local = False
        self.controlling_ang_vel = self.ang_vel_is_local = False

    def integrate_transform(self, dt: float, rigid_state: RigidState) -> RigidState:
        """Where a body is after some time."""
        return RigidState(self._turn(dt, rigid_state.rotation), self._shift(dt, rigid_state))

    def _shift(self, dt: float, state: RigidState) -> mn.Vector3:
        if not self.controlling_lin_vel:
            return mn.Vector3(state.translation)
        speed = np.asarray(self.linear_velocity, dtype=np.float64)
        step = np.asarray(state.rotation.transform_vector(speed)) if self.lin_vel_is_local else speed
        return mn.Vector3(np.asarray(state.translation, dtype=np.float64) + dt * step)

    def _turn(self, dt: float, rotation: mn.Quaternion) -> mn.Quaternion:
        if not self.controlling_ang_vel:
            return rotation
        speed = mn.Vector3(np.asarray(self.angular_velocity))
        length = speed.length()
        if length == 0.0:
            return rotation
        turned = mn.Quaternion.rotation(mn.Rad(length * dt), speed.normalized())
        made = rotation * turned if self.ang_vel_is_local else turned * rotation
        return made.normalized()


ManagedRigidObject = make_placeholder("ManagedRigidObject")
ManagedBulletRigidObject = make_placeholder("ManagedBulletRigidObject")
ManagedArticulatedObject = make_placeholder("ManagedArticulatedObject")
ManagedBulletArticulatedObject = make_placeholder("ManagedBulletArticulatedObject")
RigidObjectManager = make_placeholder("RigidObjectManager")
ArticulatedObjectManager = make_placeholder("ArticulatedObjectManager")
RayHitInfo = make_placeholder("RayHitInfo")
RaycastResults = make_placeholder("RaycastResults")
ContactPointData = make_placeholder("ContactPointData")
JointMotorSettings = make_placeholder("JointMotorSettings")
CollisionGroupHelper = make_placeholder("CollisionGroupHelper")
RigidConstraintSettings = make_placeholder("RigidConstraintSettings")
