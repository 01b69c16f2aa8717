"""Which simulators there are. The built-in one is imported only when a benchmark asks for it: it needs OpenGL."""

from nav_eval.simulator.base import SIMULATORS, Simulator, SimulatorSetup, register_simulator


@register_simulator("moderngl")
def open_moderngl(setup: SimulatorSetup) -> Simulator:
    from nav_eval.simulator.moderngl_simulator import ModernGLSimulator

    return ModernGLSimulator(setup)


def open_simulator(setup: SimulatorSetup) -> Simulator:
    """The simulator that the benchmark asks for."""
    return SIMULATORS.get(setup.benchmark.simulator.backend)(setup)
