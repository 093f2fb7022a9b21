"""The same class on a dask cluster: equal results, and a lost worker costs nothing but time."""

import os
import signal
import threading
import time

import pytest

from autograder.box import why_unavailable
from autograder.whole_class import workers
from autograder.whole_class.grade_class import Options, grade_class
from tests.grading.handing_in import (
    ASSIGNMENT,
    NO_TANH,
    NOTHING,
    RIGHT,
    WRONG_AXIS,
    hand_in,
    submission,
)

needs_box = pytest.mark.skipif(bool(why_unavailable()), reason="no namespaces")


@needs_box
@pytest.mark.box
@pytest.mark.slow
@pytest.mark.thorough
def test_a_killed_worker_costs_only_time_and_the_grades_are_the_same(tmp_path):
    from distributed import LocalCluster

    folder = tmp_path / "handed_in"
    answers = [RIGHT, NO_TANH, NOTHING, WRONG_AXIS]
    for number in range(24):
        hand_in(folder, f"s{number:02d}", submission(answers[number % 4]))
    _, here = grade_class(Options(ASSIGNMENT, (folder,), tmp_path / "here"))
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        first = next(iter(cluster.workers.values()))
        victim, killed = first.process.pid, threading.Event()

        def tell(progress):
            if progress.done >= 3 and not killed.is_set():
                os.kill(victim, signal.SIGKILL)
                killed.set()
            time.sleep(0.01)

        options = Options(
            *(ASSIGNMENT, (folder,), tmp_path / "there"),
            cluster=cluster.scheduler_address,
            without_tls=True,
        )
        run, there = grade_class(options, tell)
        assert killed.is_set()
    assert run.graded == 24 and run.flagged == 0
    assert run.where.startswith("tcp://127.0.0.1")
    assert [(v.student, v.points) for v in there] == [(v.student, v.points) for v in here]


HERE = ["tcp://127.0.0.1:8786", "localhost:8786", "tcp://[::1]:1"]
ELSEWHERE = ["tcp://10.1.2.3:8786", "grading.example.org:8786", "ws://h:1"]


@pytest.mark.parametrize("without_tls", [True, False])
@pytest.mark.parametrize("address", ELSEWHERE)
def test_a_scheduler_without_tls_elsewhere_is_refused(address, without_tls, tmp_path):
    options = Options(ASSIGNMENT, (tmp_path,), tmp_path, cluster=address, without_tls=without_tls)
    with pytest.raises(workers.ClusterRefused, match="no TLS"):
        grade_class(options)


@pytest.mark.parametrize("address", HERE)
def test_one_on_this_machine_needs_a_word_that_says_so(address):
    with pytest.raises(workers.ClusterRefused, match="--without-tls"):
        workers.check_address(address)
    workers.check_address(address, without_tls=True)


def test_tls_is_accepted():
    workers.check_address("tls://10.1.2.3:8786")
