"""A rank that waits for a result that its own worker owes it: `workers.py MODE`. Prints
"ready RANK WORKER OTHER" before it blocks: its pid, then the pid (or tid) that its wait must name,
then a second one, 0 if there is none.

  executor   a future of a ProcessPoolExecutor with one worker at work and one idle
  pool       a result of a multiprocessing.Pool, likewise
  starmap    the same, by another of its methods
  compile    as in torch.compile: a helper program has the pool, and the rank has a future that one
             of its threads fulfils when the helper answers; OTHER is the helper
  threads    a future of a ThreadPoolExecutor with one thread working on it and one idle, while a
             worker of a process pool works on something else; OTHER is that worker
  processes  the other way round; OTHER is the thread
  queued     a future that no thread has started, while all threads and a worker process are busy:
             any of them may owe it; WORKER is 0
  killed     a queue whose only writer was killed by signal 9
  failed     a queue whose only writer has exited with status 3
"""
import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import threading

fork = multiprocessing.get_context("fork")
both = fork.Barrier(2)
heard, said = os.pipe()
never, kept = os.pipe()
thread_pool = concurrent.futures.ThreadPoolExecutor(2)


def ready(worker, other=0):
    print("ready %d %d %d" % (os.getpid(), worker, other), flush=True)


def begin():
    both.wait()


def stuck(number=0):
    """Reports its pid, and never returns."""
    os.write(said, b"%d\n" % os.getpid())
    os.read(never, 1)


def hear():
    return int(os.read(heard, 32))


def started(pool, submit):
    """Returns the pool when both of its workers have begun."""
    for result in [submit(begin), submit(begin)]:
        getattr(result, "result", getattr(result, "get", None))()
    return pool


def make_executor():
    executor = concurrent.futures.ProcessPoolExecutor(2, mp_context=fork)
    return started(executor, executor.submit)


def make_pool():
    workers = fork.Pool(2)
    return started(workers, workers.apply_async)


def executor():
    processes = make_executor()
    future = processes.submit(stuck)
    ready(hear())
    future.result()


def pool():
    workers = make_pool()
    result = workers.apply_async(stuck)
    ready(hear())
    result.get()


def starmap():
    workers = make_pool()
    result = workers.starmap_async(stuck, [(1,)])
    ready(hear())
    result.wait()


def helper():
    """Main function of the helper program: runs a job in its own pool; prints the worker's pid."""
    processes = make_executor()
    future = processes.submit(stuck)
    print(hear(), flush=True)
    future.result()


def compile():
    program = subprocess.Popen([sys.executable, __file__, "helper"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    worker = int(program.stdout.readline())
    future = concurrent.futures.Future()

    def read_answers():
        future.set_result(program.stdout.readline())

    threading.Thread(target=read_answers, daemon=True).start()
    ready(worker, program.pid)
    future.result()


def stuck_thread(tids):
    tids.append(threading.get_native_id())
    os.write(said, b"0\n")
    os.read(never, 1)


def make_threads():
    """Makes two threads, one of them stuck; returns its tid and the future that it owes."""
    begun = threading.Barrier(2)
    for future in [thread_pool.submit(begun.wait), thread_pool.submit(begun.wait)]:
        future.result()
    tids = []
    future = thread_pool.submit(stuck_thread, tids)
    hear()
    return tids[0], future


def threads(wanted="threads"):
    processes = make_executor()
    of_process = processes.submit(stuck)
    worker = hear()
    tid, of_thread = make_threads()
    if wanted == "threads":
        ready(tid, worker)
        of_thread.result()
    elif wanted == "processes":
        ready(worker, tid)
        of_process.result()
    else:
        thread_pool.submit(stuck_thread, [])
        hear()
        future = thread_pool.submit(stuck_thread, [])
        ready(0, worker)
        future.result()


def processes():
    threads("processes")


def queued():
    threads("queued")


def end(how):
    if how == "killed":
        os.kill(os.getpid(), 9)
    os._exit(3)


def dead(how):
    queue = fork.Queue()
    process = fork.Process(target=end, args=(how,))
    process.start()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    ready(process.pid)
    queue.get()


def killed():
    dead("killed")


def failed():
    dead("failed")


if __name__ == "__main__":
    getattr(sys.modules["__main__"], sys.argv[1])()
