"""A worker beside its Celery consumer: heartbeats, maintenance, and work without messages while the broker is away.

Celery brings messages and runs them in its pool (`app`). What is here goes on whether or not the broker answers: with
Redis down or emptied, jobs are found in the database and done, only a few seconds later.
"""

import threading
import time
from collections.abc import Callable
from uuid import UUID

from nav_eval_store.work.queues import JobQueue
from nav_eval_worker import heartbeat
from nav_eval_worker.context import WorkerContext
from nav_eval_worker.heartbeat import HEARTBEAT_SECONDS
from nav_eval_worker.host_cleaner import HostCleaner
from nav_eval_worker.job_runner import JobRunner
from nav_eval_worker.maintenance import Maintenance
from nav_eval_worker.slots import WorkerSlots


class JobWorker:
    """One worker process, from its registration to its end."""

    def __init__(self, context: WorkerContext) -> None:
        settings = context.settings
        self.context = context
        self.slots = WorkerSlots(total=settings.slots, long=settings.concurrency)
        self._runner = JobRunner(context, self.slots)
        self._maintenance = Maintenance(context)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._attend, name="heartbeat", daemon=True)
        self._chores: list[threading.Thread] = []

    def start(self) -> None:
        heartbeat.register(self.context)
        self._thread.start()
        if self.context.settings.beat:
            threading.Thread(target=self._maintenance.run_forever, name="maintenance", daemon=True).start()

    def stop(self) -> None:
        """Take nothing new, and wait until what is being done has come to its end."""
        self.context.stopping.set()
        self.slots.wait_until_idle()
        self._over.set()
        self._thread.join()
        heartbeat.unregister(self.context)

    def run_dispatched(self, job_id: UUID, queue: JobQueue) -> None:
        """Do the job that a message names."""
        self._runner.run_dispatched(job_id, queue)

    def run_once(self) -> int:
        """Do what there is to do, without messages; how many jobs."""
        done = 0
        while True:
            self._maintenance.run_round()
            before = done
            while self._runner.run_next():
                done += 1
            if done == before:
                return done

    def _attend(self) -> None:
        settings = self.context.settings
        cleaner = HostCleaner(self.context)
        seconds: dict[Callable[[], object], float] = {
            self.context.health.refresh: settings.poll_seconds,
            self._poll: settings.poll_seconds,
            cleaner.clean: self.context.deadlines.lease.total_seconds() / 3,
        }
        due = dict.fromkeys(seconds, 0.0)
        while True:
            is_draining = heartbeat.send_heartbeat(self.context)
            self.slots.drain(is_draining=is_draining or not self.context.health.is_well)
            self._chores = [thread for thread in self._chores if thread.is_alive()]
            for chore in [chore for chore, at in due.items() if time.monotonic() >= at]:
                due[chore] = time.monotonic() + seconds[chore]
                self._chores.append(threading.Thread(target=chore, name="chore", daemon=False))
                self._chores[-1].start()
            if self._over.wait(min(HEARTBEAT_SECONDS, settings.poll_seconds)):
                break
        for thread in self._chores:
            thread.join()

    def _poll(self) -> None:
        """Look at the database by ourselves; while the broker is away, do what is found."""
        while not self.context.dispatcher.dispatch() and self._runner.run_next():
            pass
