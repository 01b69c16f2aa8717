"""Names of robots with arms, of habitat-sim up to 0.2.2: habitat-lab 0.2.0 to 0.2.2 imports them for any task."""

from nav_eval_habitat.scope import make_placeholder

FetchRobot = make_placeholder("FetchRobot")
FetchRobotNoWheels = make_placeholder("FetchRobotNoWheels")
MobileManipulator = make_placeholder("MobileManipulator")
MobileManipulatorParams = make_placeholder("MobileManipulatorParams")
RobotCameraParams = make_placeholder("RobotCameraParams")
RobotInterface = make_placeholder("RobotInterface")
