"""Honest programs of many kinds, each printing OK; a filter of system calls that breaks one of them is too narrow.

``NEEDS_A_FOLDER`` lists those that write files, which only tier A lets them do.
"""
# ruff: noqa: E501 - many small programs, each to be seen at a glance

from __future__ import annotations

from textwrap import dedent

_TEXTS = {
    "threads_with_locks_and_events": """
        import threading
        lock, event, total = threading.Lock(), threading.Event(), []
        def work(n):
            event.wait()
            with lock: total.append(n)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(10)]
        [t.start() for t in threads]; event.set(); [t.join() for t in threads]
        assert sorted(total) == list(range(10))
        """,
    "conditions_barriers_timers_queues": """
        import queue, threading
        q, barrier, ready = queue.Queue(), threading.Barrier(3), threading.Condition()
        def work():
            barrier.wait(5); q.put(threading.get_native_id())
        threads = [threading.Thread(target=work) for _ in range(3)]
        [t.start() for t in threads]; [t.join() for t in threads]
        assert len({q.get(timeout=5) for _ in range(3)}) == 3
        timer = threading.Timer(0.01, q.put, ("rang",)); timer.start()
        assert q.get(timeout=5) == "rang"
        with ready: assert not ready.wait(0.01)
        """,
    "small_stacks": """
        import threading
        threading.stack_size(64 << 10)
        t = threading.Thread(target=int); t.start(); t.join()
        """,
    "pools_of_threads": """
        from concurrent.futures import ThreadPoolExecutor, as_completed
        from multiprocessing.pool import ThreadPool
        with ThreadPoolExecutor(4) as pool:
            assert sum(f.result() for f in as_completed([pool.submit(abs, -n) for n in range(20)])) == 190
        """,
    "files_of_all_modes": """
        import os, io
        with open("a", "w") as f: f.write("one\\ntwo\\n")
        with open("a", "a") as f: f.write("three\\n"); f.flush(); os.fsync(f.fileno())
        with open("a", "r+b") as f: f.seek(2); f.write(b"X"); f.truncate(8); f.seek(0); assert f.read(3) == b"onX"
        with open("a", buffering=1) as f: assert f.readline() == "onX\\n" and f.tell() == 4
        assert os.path.getsize("a") == 8 and os.stat("a").st_nlink == 1 and os.access("a", os.R_OK)
        os.rename("a", "b"); os.replace("b", "c"); os.link("c", "d"); os.symlink("c", "e")
        assert os.readlink("e") == "c" and os.path.samefile("c", "d") and sorted(os.listdir()) == ["c", "d", "e"]
        os.remove("d"); os.unlink("e")
        """,
    "descriptors_by_hand": """
        import os
        fd = os.open("x", os.O_CREAT | os.O_RDWR, 0o600)
        os.write(fd, b"hello"); os.lseek(fd, 0, os.SEEK_SET); other = os.dup(fd); os.dup2(other, 20)
        assert os.pread(20, 3, 1) == b"ell" and os.pwrite(fd, b"J", 0) == 1 and os.read(other, 9) == b"Jello"
        os.writev(fd, [b"a", b"b"]); os.preadv(fd, [bytearray(2)], 0); os.ftruncate(fd, 2); os.fdatasync(fd)
        os.posix_fallocate(fd, 0, 4096); os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_NORMAL); os.fstat(fd); os.isatty(fd)
        os.set_inheritable(fd, True); os.set_blocking(fd, False); os.close(other); os.closerange(20, 22)
        r, w = os.pipe(); os.write(w, b"p"); assert os.read(r, 1) == b"p"
        """,
    "folders_and_walks": """
        import glob, os, pathlib, shutil, tempfile
        os.makedirs("p/q/r"); pathlib.Path("p/q/f.txt").write_text("x"); os.chdir("p"); assert os.getcwd().endswith("/p")
        assert [d for d, _, _ in os.walk(".")] == [".", "./q", "./q/r"] and glob.glob("**/*.txt", recursive=True)
        os.chdir(".."); shutil.copytree("p", "copy"); shutil.move("copy", "moved"); shutil.rmtree("p")
        os.rmdir("moved/q/r"); assert shutil.disk_usage(".").total > 0 and os.scandir(".")
        with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile(dir=d) as f: f.write(b"x")
        with tempfile.TemporaryFile() as f: f.write(b"x")
        with tempfile.SpooledTemporaryFile() as f: f.write(b"x")
        """,
    "modes_and_times_of_own_files": """
        import os, pathlib, shutil
        pathlib.Path("f").touch(); os.chmod("f", 0o600); os.utime("f", (1, 1)); os.umask(0o22); shutil.copy2("f", "g")
        assert os.stat("g").st_mtime == 1
        """,
    "locks_of_files": """
        import fcntl
        with open("l", "w") as f: fcntl.lockf(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_UN); fcntl.fcntl(f, fcntl.F_GETFL)
        """,
    "archives": """
        import bz2, gzip, io, lzma, tarfile, zipfile, zlib
        text = b"x" * 100_000
        for m in (zlib, bz2, lzma, gzip): assert m.decompress(m.compress(text)) == text
        with zipfile.ZipFile("z.zip", "w", zipfile.ZIP_DEFLATED) as z: z.writestr("a", text)
        with tarfile.open("t.tar.gz", "w:gz") as t: t.add("z.zip")
        """,
    "shelves_and_databases_on_disk": """
        import dbm.dumb, shelve, sqlite3
        with sqlite3.connect("db") as c: c.execute("create table t(x)"); c.execute("insert into t values (1)")
        c.close()
        with dbm.dumb.open("d", "c") as d: d["a"] = "1"
        """,
    "a_database_in_memory": """
        import sqlite3
        c = sqlite3.connect(":memory:"); c.execute("create table t(x)"); c.executemany("insert into t values (?)", [(1,), (2,)])
        assert c.execute("select sum(x) from t").fetchone() == (3,)
        """,
    "numbers": """
        import array, cmath, decimal, fractions, math, numbers, operator, statistics, struct
        decimal.getcontext().prec = 2000; assert str(decimal.Decimal(2).sqrt()).startswith("1.41421356")
        assert fractions.Fraction(1, 3) + fractions.Fraction(1, 6) == fractions.Fraction(1, 2)
        assert statistics.stdev([1, 2, 3]) == 1 and struct.pack("<I", 1) == b"\\1\\0\\0\\0" and math.factorial(2000)
        assert array.array("d", [1.0]).itemsize == 8 and abs(cmath.exp(1j * cmath.pi) + 1) < 1e-9
        """,
    "randomness_and_hashes": """
        import hashlib, hmac, os, random, secrets, uuid
        assert len(os.urandom(9)) == 9 and len(os.getrandom(4)) == 4 and uuid.uuid4() != uuid.uuid4()
        assert len(secrets.token_hex(8)) == 16 and random.SystemRandom().random() < 1; random.seed(); uuid.uuid5(uuid.NAMESPACE_DNS, "x")
        for name in hashlib.algorithms_guaranteed: hashlib.new(name)
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 1000); hashlib.scrypt(b"x", salt=b"y", n=2, r=8, p=1); hmac.digest(b"k", b"m", "sha256")
        """,
    "clocks": """
        import calendar, datetime, time, timeit, zoneinfo
        time.sleep(0.01); time.time(); time.monotonic_ns(); time.perf_counter(); time.process_time(); time.thread_time()
        time.localtime(); time.strftime("%Z"); time.clock_gettime(time.CLOCK_BOOTTIME); time.clock_getres(time.CLOCK_MONOTONIC)
        datetime.datetime.now(datetime.timezone.utc); datetime.datetime.now().astimezone(); time.tzset(); timeit.timeit("1", number=10)
        datetime.datetime.strptime("2024-02-29", "%Y-%m-%d"); calendar.monthrange(2024, 2)
        """,
    "an_event_loop_with_threads_queues_and_pipes": """
        import asyncio
        async def main():
            q, loop = asyncio.Queue(), asyncio.get_running_loop()
            async def put(n): await asyncio.sleep(0.001 * n); await q.put(n)
            await asyncio.gather(*map(put, range(5)), asyncio.to_thread(abs, -1), loop.run_in_executor(None, abs, -1))
            loop.call_soon_threadsafe(q.put_nowait, 5)
            assert [await asyncio.wait_for(q.get(), 5) for _ in range(6)]
            try: await asyncio.wait_for(asyncio.sleep(5), 0.01)
            except TimeoutError: pass
            else: raise AssertionError
        asyncio.run(main())
        """,
    "an_event_loop_with_streams_between_its_own_ends": """
        import asyncio, socket
        async def main():
            a, b = socket.socketpair()
            r, w = await asyncio.open_connection(sock=a); r2, w2 = await asyncio.open_connection(sock=b)
            w.write(b"hi\\n"); await w.drain(); assert await r2.readline() == b"hi\\n"; w.close(); w2.close()
        asyncio.run(main())
        """,
    "selectors_of_all_kinds": """
        import select, selectors, socket
        a, b = socket.socketpair(); a.sendall(b"x"); a.settimeout(1); b.getsockname(); b.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
        for kind in (selectors.SelectSelector, selectors.PollSelector, selectors.EpollSelector):
            with kind() as s: s.register(b, selectors.EVENT_READ); assert s.select(1)
        assert select.select([b], [], [], 0)[0] and b.recv(1, socket.MSG_PEEK) == b"x"; b.shutdown(socket.SHUT_RDWR)
        """,
    "signals_and_timers": """
        import signal, time, os, threading
        seen = []
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1)); signal.raise_signal(signal.SIGUSR1); os.kill(os.getpid(), signal.SIGUSR1)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1); signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGALRM, lambda *_: seen.append(2)); signal.alarm(0); signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(0.05)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2}); os.kill(os.getpid(), signal.SIGUSR2)
        assert signal.SIGUSR2 in signal.sigpending() and signal.sigtimedwait({signal.SIGUSR2}, 1)
        assert seen == [1, 1, 1, 2] and signal.getitimer(signal.ITIMER_REAL)[0] == 0; signal.siginterrupt(signal.SIGUSR1, True)
        """,
    "memory": """
        import gc, mmap, sys, tracemalloc, weakref
        block = bytearray(200 << 20); del block; big = [0] * 10**7; del big; gc.collect()
        m = mmap.mmap(-1, 1 << 20); m[:5] = b"hello"; m.seek(0); assert m.read(5) == b"hello"; m.flush(); m.resize(2 << 20); m.close()
        tracemalloc.start(); x = [object() for _ in range(1000)]; assert tracemalloc.get_traced_memory()[0] > 0
        """,
    "mapped_files": """
        import mmap
        open("m", "wb").write(b"x" * 8192)
        with open("m", "r+b") as f, mmap.mmap(f.fileno(), 0) as m: m[0] = 65; m.flush(); m.madvise(mmap.MADV_WILLNEED); assert m.find(b"Ax") == 0
        """,
    "recursion": """
        import sys, threading
        sys.setrecursionlimit(20_000)
        def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
        assert depth(15_000) == 15_000
        try: (f := lambda: f())()
        except RecursionError: pass
        """,
    "text": """
        import codecs, csv, difflib, gettext, html, io, json, locale, re, string, textwrap, unicodedata
        locale.setlocale(locale.LC_ALL, "C"); locale.localeconv(); locale.getlocale(); locale.getpreferredencoding()
        assert unicodedata.normalize("NFC", "e\\u0301") == "\\xe9" and re.sub(r"(?i)a+", "b", "AaA") == "b" and json.loads("[1]") == [1]
        for name in ("utf-16", "cp1252", "shift_jis", "gb18030", "idna", "punycode"): "x".encode(name)
        list(csv.reader(["a,b"])); csv.writer(io.StringIO()).writerow([1]); difflib.unified_diff(["a"], ["b"])
        """,
    "markup_and_mail": """
        import configparser, email.message, html.parser, plistlib, tomllib, urllib.parse, xml.dom.minidom, xml.etree.ElementTree as E, xml.sax
        assert E.fromstring("<a><b/></a>")[0].tag == "b" and tomllib.loads("a = 1") and urllib.parse.quote(" ") == "%20"
        """,
    "modules_that_only_need_to_import": """
        import argparse, cProfile, code, concurrent.futures.process, ctypes.util, curses.ascii, dis, doctest, ftplib, getpass, http.client
        import imaplib, logging.handlers, multiprocessing, multiprocessing.shared_memory, pdb, pickle, platform, profile, pstats, pty
        import runpy, sched, shlex, smtplib, socketserver, ssl, subprocess, sysconfig, termios, trace, unittest.mock, urllib.request
        import venv, webbrowser, wsgiref, xmlrpc.client, zipapp, resource, readline
        """,
    "what_a_program_asks_about_its_process": """
        import os, platform, resource, sys, threading
        os.getpid(), os.getppid(), os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups(), os.getpgid(0), os.getsid(0), os.getpgrp()
        os.uname(), os.cpu_count(), os.times(), os.getloadavg, os.sched_getaffinity(0), os.sched_yield(), os.getpriority(os.PRIO_PROCESS, 0)
        os.sysconf("SC_PAGESIZE"), os.get_terminal_size, resource.getrusage(resource.RUSAGE_SELF), resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_STACK, resource.getrlimit(resource.RLIMIT_STACK)), platform.platform(), platform.node(), os.getresuid()
        os.sched_getscheduler(0), os.sched_get_priority_max(os.SCHED_OTHER), os.statvfs("/usr"), threading.get_native_id(), os.getcwd(), os.ctermid()
        os.environ["x"] = "1"; os.getlogin; os.sched_getparam(0), os.strerror(1), sys.getallocatedblocks()
        """,
    "streams": """
        import sys
        sys.stdout.write("a"); sys.stderr.write("b"); sys.stdout.flush(); sys.stdout.reconfigure(line_buffering=True)
        sys.stdout.buffer.write(b"c"); sys.stdout.buffer.flush(); assert sys.stdin.read() == "" and not sys.stdin.isatty(); print(flush=True)
        """,
    "the_c_library_and_callbacks": """
        import ctypes, ctypes.util
        libc = ctypes.CDLL(None); assert libc.abs(-1) == 1 and libc.strlen(b"abc") == 3
        compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
        row = (ctypes.c_int * 3)(3, 1, 2); libc.qsort(row, 3, 4, compare(lambda a, b: a[0] - b[0])); assert list(row) == [1, 2, 3]
        """,
    "logging_warnings_and_tracebacks": """
        import faulthandler, logging, sys, traceback, warnings
        logging.basicConfig(stream=sys.stdout); logging.warning("x"); warnings.warn("y"); faulthandler.enable(sys.stderr)
        try: 1 / 0
        except ZeroDivisionError: traceback.print_exc(); traceback.format_stack()
        """,
    "code_made_at_run_time": """
        import ast, dis, inspect, types, importlib
        exec(compile(ast.parse("x = 1"), "n", "exec")); eval("1 + 1"); dis.dis(compile("1", "n", "eval")); inspect.signature(len); importlib.import_module("colorsys")
        """,
    "an_own_module_on_disk": """
        import importlib, pathlib, sys
        pathlib.Path("own.py").write_text("VALUE = 7"); sys.path.insert(0, "."); importlib.invalidate_caches()
        import own; assert own.VALUE == 7
        """,
    "pickles_and_copies": """
        import copy, marshal, pickle
        assert pickle.loads(pickle.dumps({1: [2]})) == copy.deepcopy({1: [2]}) == marshal.loads(marshal.dumps({1: [2]}))
        """,
    "tests_of_its_own": """
        import doctest, unittest
        class T(unittest.TestCase):
            def test(self): self.assertEqual(1, 1)
        assert unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(T)).wasSuccessful()
        """,
    "an_exit_handler_and_a_finalizer": """
        import atexit, gc, weakref
        atexit.register(print, "late"); o = type("O", (), {})(); weakref.finalize(o, int); del o; gc.collect()
        """,
    "a_refused_process_is_an_ordinary_error": """
        import multiprocessing, os, socket, subprocess
        for attempt in (os.fork, lambda: subprocess.run(["true"]), lambda: os.system("true") and 1 / 0, socket.socket, multiprocessing.Process(target=int).start):
            try: attempt()
            except (OSError, ZeroDivisionError): pass
            else: raise AssertionError
        """,
}

PROGRAMS = {name: dedent(text) + "\nprint('OK')\n" for name, text in _TEXTS.items()}

NEEDS_A_FOLDER = (
    "files_of_all_modes", "descriptors_by_hand", "folders_and_walks", "modes_and_times_of_own_files", "locks_of_files",
    "archives", "shelves_and_databases_on_disk", "mapped_files", "an_own_module_on_disk",
)  # fmt: skip
