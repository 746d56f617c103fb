"""Honest programs that must not notice the jail, each with what it returns. Only text; ``attack_table`` runs them."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Honest:
    """One program that defines ``f``.

    Attributes:
        returned: what ``f()`` must return.
        printed: what the program must print.
        needs_folder: it writes files, for which only tier A has room.
    """

    name: str
    text: str
    returned: Any
    printed: str = ""
    needs_folder: bool = False

    @property
    def program(self) -> str:
        """The program as it stands in a file of its own."""
        return dedent(self.text).strip() + "\n"


HONEST: Final = (
    Honest("computes", "def f(): return sum(range(10**6))", 499_999_500_000),
    Honest(
        "imports_the_usual_modules",
        """
        import bisect, collections, copy, dataclasses, datetime, decimal, fractions, functools, hashlib, heapq
        import itertools, json, math, operator, random, re, statistics, string, typing
        def f(): return bisect.bisect([1, 2], math.comb(3, 1))
        """,
        2,
    ),
    Honest(
        "imports_rarer_modules",
        """
        import csv, email.message, difflib, html, locale, sqlite3, uuid, xml.etree.ElementTree, zoneinfo
        def f(): return html.unescape("&lt;")
        """,
        "<",
    ),
    Honest(
        "imports_what_it_may_not_use",
        """
        import multiprocessing, select, signal, socket, subprocess, threading, urllib.request
        def f(): return socket.AF_INET.name
        """,
        "AF_INET",
    ),
    Honest(
        "uses_a_file_of_its_own",
        """
        def f():
            with open("a.txt", "w") as file:
                file.write("hi")
            with open("a.txt", "a+") as file:
                file.write(" there")
                file.seek(0)
                return file.read()
        """,
        "hi there",
        needs_folder=True,
    ),
    Honest(
        "uses_a_temporary_folder",
        """
        import os, pathlib, shutil, tempfile
        def f():
            folder = pathlib.Path(tempfile.mkdtemp())
            (folder / "a").write_text("hi")
            shutil.copy(folder / "a", folder / "b")
            os.rename(folder / "b", folder / "c")
            return sorted(path.name for path in folder.iterdir())
        """,
        ["a", "c"],
        needs_folder=True,
    ),
    Honest(
        "uses_temporary_files_and_links",
        """
        import os, tempfile
        def f():
            with tempfile.NamedTemporaryFile("w+") as file, tempfile.TemporaryFile() as other:
                file.write("hi")
                file.flush()
                os.symlink(file.name, "link")
                other.write(b"there")
                return open("link").read()
        """,
        "hi",
        needs_folder=True,
    ),
    Honest("finds_an_empty_standard_input", "import sys\ndef f(): return sys.stdin.read()", ""),
    Honest(
        "runs_threads",
        """
        import threading
        def f():
            seen = []
            threads = [threading.Thread(target=seen.append, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return sorted(seen)
        """,
        list(range(8)),
    ),
    Honest(
        "uses_a_pool_of_threads",
        """
        from concurrent.futures import ThreadPoolExecutor
        def f():
            with ThreadPoolExecutor(4) as pool:
                return list(pool.map(abs, [-1, -2]))
        """,
        [1, 2],
    ),
    Honest(
        "hands_work_from_thread_to_thread",
        """
        import queue, threading
        def f():
            box, done = queue.Queue(), threading.Event()
            threading.Thread(target=lambda: (box.put(7), done.set())).start()
            return [box.get(timeout=1), done.wait(1)]
        """,
        [7, True],
    ),
    Honest(
        "runs_an_event_loop",
        """
        import asyncio
        async def later(n):
            await asyncio.sleep(0.01)
            return n
        async def both():
            return await asyncio.gather(later(1), later(2))
        def f(): return asyncio.run(both())
        """,
        [1, 2],
    ),
    Honest("takes_two_hundred_megabytes", "def f(): return len(bytearray(200 << 20))", 200 << 20),
    Honest(
        "recurses_fifteen_thousand_deep",
        """
        import sys
        sys.setrecursionlimit(20_000)
        def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
        def f(): return depth(15_000)
        """,
        15_000,
    ),
    Honest("prints_any_script", "def f(): print('ж 漢 \\U0001f600')", None, printed="ж 漢 \U0001f600\n"),
    Honest(
        "prints_on_both_streams",
        """
        import sys
        def f():
            print("out", flush=True)
            print("err", file=sys.stderr)
        """,
        None,
        printed="out\nerr\n",
    ),
    Honest(
        "sleeps_a_little",
        """
        import time
        def f():
            start = time.monotonic()
            time.sleep(0.05)
            return time.monotonic() - start >= 0.05
        """,
        True,
    ),
    Honest(
        "asks_for_random_bytes",
        "import os, secrets, uuid\ndef f(): return len(os.urandom(8) + secrets.token_bytes(8))",
        16,
    ),
    Honest("draws_the_same_numbers_every_time", "import random\ndef f(): return random.randrange(1 << 30)", 827307999),
    Honest("asks_for_the_time", "import datetime\ndef f(): return datetime.datetime.now().year > 2020", True),
    Honest(
        "knows_the_time_zones_of_the_machine",
        """
        import os, zoneinfo
        def f(): return not os.path.isdir("/usr/share/zoneinfo") or zoneinfo.ZoneInfo("Africa/Nairobi").key != ""
        """,
        True,
    ),
    Honest(
        "defines_data_classes_with_postponed_types",
        """
        from __future__ import annotations
        import dataclasses, typing
        @dataclasses.dataclass(order=True)
        class Point:
            x: int
            y: typing.ClassVar[int] = 0
        def f(): return [typing.get_type_hints(Point)["x"] is int, Point(1) < Point(2)]
        """,
        [True, True],
    ),
    Honest(
        "signals_itself",
        """
        import os, signal
        seen = []
        signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
        def f():
            os.kill(os.getpid(), signal.SIGUSR1)
            return len(seen)
        """,
        1,
    ),
    Honest(
        "keeps_a_database_in_memory",
        """
        import sqlite3
        def f():
            base = sqlite3.connect(":memory:")
            base.execute("create table t (x)")
            base.executemany("insert into t values (?)", [(n,) for n in range(100)])
            return base.execute("select sum(x) from t").fetchone()
        """,
        (4950,),
    ),
    Honest(
        "maps_memory_of_its_own",
        """
        import mmap
        def f():
            with mmap.mmap(-1, 1 << 20) as page:
                page[:2] = b"hi"
                return page[:2]
        """,
        b"hi",
    ),
    Honest(
        "packs_and_hashes",
        """
        import base64, bz2, hashlib, lzma, zlib
        def f():
            text = b"a" * 10_000
            packed = [zlib.decompress(zlib.compress(text)), bz2.decompress(bz2.compress(text))]
            packed.append(lzma.decompress(lzma.compress(text)))
            return [item == text for item in packed] + [hashlib.sha256(b"").hexdigest()[:8], base64.b16encode(b"a")]
        """,
        [True, True, True, "e3b0c442", b"61"],
    ),
    Honest(
        "reads_and_writes_csv_and_json",
        """
        import csv, io, json
        def f():
            out = io.StringIO()
            csv.writer(out).writerow(["a", 1])
            return json.loads(json.dumps({"row": next(csv.reader([out.getvalue()]))}))
        """,
        {"row": ["a", "1"]},
    ),
    Honest(
        "computes_with_decimals_and_fractions",
        """
        from decimal import Decimal, getcontext
        from fractions import Fraction
        getcontext().prec = 30
        def f(): return [str(Decimal(1) / 7), str(Fraction(1, 3) + Fraction(1, 6))]
        """,
        ["0.142857142857142857142857142857", "1/2"],
    ),
    Honest(
        "computes_with_large_integers",
        "import math\ndef f(): return len(str(math.factorial(1000))), pow(3, 10**6, 10**9 + 7)",
        (2568, pow(3, 10**6, 10**9 + 7)),
    ),
    Honest("calls_the_c_library", "import ctypes\ndef f(): return ctypes.CDLL(None).abs(-3)", 3),
    Honest(
        "catches_its_own_errors",
        """
        def f():
            try:
                [][1]
            except IndexError as error:
                return str(error)
        """,
        "list index out of range",
    ),
    Honest("lists_its_own_folder", "import os\ndef f(): return os.listdir('.')", [], needs_folder=True),
    Honest(
        "formats_by_locale_and_name",
        "import locale, unicodedata\ndef f(): return [locale.format_string('%d', 5), unicodedata.name('ж')]",
        ["5", "CYRILLIC SMALL LETTER ZHE"],
    ),
    Honest(
        "answers_after_an_exit_handler_was_set",
        "import atexit\natexit.register(print, 'bye')\ndef f(): return 1",
        1,
    ),
)
