# Where cells run: processes of this machine, or the workers of a Dask cluster.
import concurrent.futures
import contextlib
import itertools
import pickle
import queue
import sys
import uuid

from verbs.sweep import cell
from verbs.sweep.plan import Failure

CONNECT_S = 10
# Seconds that a cluster may have no worker while cells wait.
EMPTY_S = 120


class LocalPool:
    """Runs this many cells in parallel, each in a process."""

    def __init__(self, jobs):
        self.size = jobs
        self.ended = queue.Queue()
        self.threads = concurrent.futures.ThreadPoolExecutor(jobs)

    def start(self, index, work):
        future = self.threads.submit(cell.run_cell, work)
        future.add_done_callback(lambda ended: self.ended.put((index, ended)))

    def next(self):
        """(index, result of run_cell()) of a cell that has ended."""
        index, future = self.ended.get()
        return index, future.result()

    def words(self):
        return f"{self.size} in parallel"

    def close(self):
        self.threads.shutdown(wait=True, cancel_futures=True)


class ByValue:
    """A function that is pickled by value, so that scheduler and workers do not need its module."""

    def __init__(self, function, dumps):
        self.octets = dumps(function)

    def __reduce__(self):
        return pickle.loads, (self.octets,)

    def __call__(self, *arguments):
        return pickle.loads(self.octets)(*arguments)


class DaskPool:
    """The workers of a cluster, each with this program and these files at the same paths."""

    def __init__(self, address):
        try:
            import cloudpickle
            import distributed
        except ImportError as error:
            raise Failure(3, f"{error.name} is missing in {sys.executable}: tools/setup installs"
                             " dask, or use --jobs") from error
        cloudpickle.register_pickle_by_value(cell)
        self.run_cell = ByValue(cell.run_cell, cloudpickle.dumps)
        self.distributed = distributed
        try:
            self.client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise Failure(3, f"--dask {address}: no scheduler answered within {CONNECT_S} s:"
                             " start one with 'dask scheduler', and workers") from error
        self.ended = queue.Queue()
        self.size = 4 * max(16, self.threads_there())
        self.kept = {}
        self.tag = uuid.uuid4().hex  # other sweeps may use the same cluster
        self.count = itertools.count()

    def threads_there(self):
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        return sum(worker["nthreads"] for worker in workers.values())

    @contextlib.contextmanager
    def scheduler(self):
        """Converts the loss of the scheduler to a one-line Failure."""
        gone = (OSError, concurrent.futures.CancelledError,
                self.distributed.client.ClosedClientError)
        try:
            yield
        except gone as error:
            raise Failure(3, "the connection to the scheduler was lost: start it and its workers,"
                             " then run this command again to resume") from error

    def start(self, index, work):
        with self.scheduler():
            future = self.client.submit(self.run_cell, work,
                                        key=f"cell-{self.tag}-{next(self.count)}")
        self.kept[index] = future
        future.add_done_callback(lambda ended: self.ended.put((index, ended)))

    def next(self):
        """As in LocalPool. Dask repeats the cells of a worker that dies, except for a cell that
        took several workers with it."""
        with self.scheduler():
            while True:
                try:
                    index, future = self.ended.get(timeout=EMPTY_S)
                    break
                except queue.Empty:
                    if self.threads_there() == 0:
                        raise Failure(3, f"the cluster has had no worker for {EMPTY_S} s: start"
                                         " some with 'dask worker', then run this command"
                                         " again to resume") from None
            del self.kept[index]
            error = future.exception()
            if error is None:
                return index, future.result()
        if isinstance(error, self.distributed.KilledWorker):
            return index, {"killed": 9}
        raise Failure(3, f"the cluster failed to run a cell: {error}")

    def words(self):
        with self.scheduler():
            return f"{self.threads_there()} in parallel"

    def close(self):
        with contextlib.suppress(Failure), self.scheduler():
            self.client.cancel(list(self.kept.values()))
        self.client.close()
