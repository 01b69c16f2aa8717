"""From settings to a workshop: the database, the blobs, the runtime by its name."""

from nav_eval.errors import ConfigError
from nav_eval_store import migrate
from nav_eval_worker.bell import Bell
from nav_eval_worker.runtime.base import Runtime
from nav_eval_worker.settings import WorkerSettings
from nav_eval_worker.workshop import Workshop

RUNTIMES = ("process", "docker", "kubernetes")


def open_workshop(settings: WorkerSettings) -> Workshop:
    """Everything that a worker needs; refused when the database has another version or nothing can be run."""
    settings.folder.mkdir(parents=True, exist_ok=True)
    runtime = open_runtime(settings)
    runtime.check()
    database = settings.store.open_database()
    migrate.check(database)
    return Workshop(
        settings=settings,
        database=database,
        blobs=settings.store.open_blobs(),
        runtime=runtime,
        bell=Bell(settings.broker),
    )


def open_runtime(settings: WorkerSettings) -> Runtime:
    match settings.runtime:
        case "process":
            from nav_eval_worker.runtime.process import ProcessRuntime

            return ProcessRuntime(settings.folder, cache=settings.cache)
        case "docker":
            from nav_eval_worker.runtime.docker import DockerRuntime

            return DockerRuntime(settings.folder)
        case "kubernetes":
            from nav_eval_worker.runtime.kubernetes import KubernetesRuntime

            return KubernetesRuntime(settings.folder)
    raise ConfigError(f"There is no runtime {settings.runtime!r}; there are {', '.join(RUNTIMES)}.")
