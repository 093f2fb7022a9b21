"""Who grades the submissions: threads around one box here, or a dask cluster elsewhere."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar
from urllib.parse import urlsplit

from autograder.box import Box
from autograder.grading.reading import Readers
from autograder.grading.student import Finished, Setting
from autograder.grading.verdict import BoxFailed
from autograder.intake import HandedIn

Item = TypeVar("Item")
Result = TypeVar("Result")
Done = tuple[int, Result | BaseException]
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class ClusterRefused(RuntimeError):
    """An address that must not be given submissions."""


class ClusterUnreachable(RuntimeError):
    """No scheduler answers at the address, or it does not let us in."""


def windowed(
    submit: Callable[[Item], Future[Result]], tasks: Iterable[Item], most: int
) -> Iterator[Done[Result]]:
    """Keep at most `most` tasks in progress, so that memory stays flat however large the class."""
    under_way: dict[Future[Result], int] = {}
    numbered = enumerate(tasks)
    for index, task in numbered:
        under_way[submit(task)] = index
        if len(under_way) >= most:
            yield from finished(under_way)
    while under_way:
        yield from finished(under_way)


def finished(under_way: dict[Future[Result], int]) -> Iterator[Done[Result]]:
    done, _ = wait(under_way, return_when=FIRST_COMPLETED)
    for future in done:
        index = under_way.pop(future)
        problem = future.exception()
        yield index, (future.result() if problem is None else problem)


def side_by_side(
    work: Callable[[Item], Result], tasks: Iterable[Item], jobs: int
) -> Iterator[Done[Result]]:
    """Do each task on this machine, `jobs` at a time; yields its number and its result."""
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="grade")
    try:
        yield from windowed(lambda task: pool.submit(work, task), tasks, 3 * jobs)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def check_address(address: str, without_tls: bool = False) -> None:
    """A scheduler without TLS runs the code of anyone who can reach it.

    On the loopback that is every user of this machine, so it has to be asked for.
    """
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme == "tls":
        return
    here = parts.scheme == "tcp" and parts.hostname in LOOPBACK
    if here and without_tls:
        return
    remedy = "Start it with --tls-ca-file, --tls-cert and --tls-key and use tls://…"
    if here:
        remedy += ", or add --without-tls if nobody else can log in to this machine"
    raise ClusterRefused(
        f"{address} has no TLS: anybody who reaches such a scheduler can run code on its workers. "
        f"{remedy}."
    )


def connected(address: str):
    """A client of the scheduler; its certificates are those in dask's own configuration."""
    from distributed import Client

    try:
        return Client(address, set_as_default=False)
    except (OSError, TypeError, ValueError) as problem:
        raise ClusterUnreachable(
            f"The scheduler {address} cannot be used: {problem}. For tls://… dask must know your "
            "certificates: set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__TLS__CLIENT__CERT and "
            "…__TLS__CLIENT__KEY to their files."
        ) from problem


def finish_on_cluster(
    tasks: Iterable[HandedIn], setting: Setting, address: str, unsafe: bool
) -> Iterator[Done[Finished]]:
    """Send each student's files to a dask scheduler; a lost worker's tasks go to the others."""
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    with connected(address) as client:
        threads = max(1, sum(client.nthreads().values()))
        numbered = enumerate(tasks)
        indices = {}

        def send() -> object | None:
            for index, task in numbered:
                future = client.submit(finish_on_worker, task, setting, unsafe, pure=False)
                indices[future.key] = index
                return future
            return None

        # enough for every worker to stay busy while we write a batch into the gradebook
        first = [future for _ in range(16 * threads) if (future := send()) is not None]
        under_way = as_completed(first, loop=client.loop)
        for future in under_way:
            index, problem = indices.pop(future.key), future.exception()
            if isinstance(problem, KilledWorker):
                problem = BoxFailed("Every worker that took this submission was lost.")
            yield index, (future.result() if problem is None else problem)
            future.release()
            following = send()
            if following is not None:
                under_way.add(following)


_boxes: dict[bool, tuple[Box, Readers]] = {}
_starting = threading.Lock()


def finish_on_worker(task: HandedIn, setting: Setting, unsafe: bool) -> Finished:
    """Runs on a worker of the cluster and keeps one warm box, and readers, for all its tasks."""
    with _starting:
        if unsafe not in _boxes:
            box = Box(workers=1, unsafe=unsafe)
            box.start()
            atexit.register(box.close)
            readers = Readers(unsafe)
            readers.start()
            atexit.register(readers.close)
            _boxes[unsafe] = box, readers
    box, readers = _boxes[unsafe]
    return readers.finish(task, setting, box)
