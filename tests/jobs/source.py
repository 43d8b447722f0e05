"""Assembles the text of a generated job: functions with random names that call each other, in one
file or two."""

import textwrap

HEADER = '''\
"""{title}."""
import asyncio
import atexit
import concurrent.futures
import ctypes
import datetime
import fcntl
import hashlib
import mmap
import multiprocessing
import os
import queue
import select
import selectors
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import types
import urllib.request

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.file_baton import FileBaton

import job_facts

RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])
facts = job_facts.Rank({facts!r}, WORLD, RANK)
ctx = types.SimpleNamespace(step=-1)
'''


def indent(lines, by=1):
    return [textwrap.indent(line, "    " * by) for line in lines]


class Source:
    def __init__(self, random, names):
        self.random, self.names = random, names
        self.blocks = []   # definitions, in order
        self.setup = []    # lines of main(), before the loop
        self.loop = []     # lines in the loop
        self.after = []    # lines behind it
        self.count = "10**9"

    def define(self, body, depth=None, argument="i"):
        """Adds a function of one argument that runs `body`, with 0 to 3 functions that call each
        other above it. Returns the expression to call."""
        if depth is None:
            depth = self.random.choice((0, 0, 1, 1, 2, 3))
        call = self._define_one(body, argument)
        for _ in range(depth):
            call = self._define_one(self._calling(call, argument), argument)
        return call

    def _calling(self, call, argument):
        return self.random.choice((
            [f"{call}({argument})"],
            [f"return {call}({argument})"],
            ["started = time.perf_counter()", f"{call}({argument})",
             "return time.perf_counter() - started"],
            ["for part in range(1):", f"    {call}({argument})"],
            ["try:", f"    {call}({argument})", "finally:", "    ctx.last = 0"],
            ["with torch.enable_grad():", f"    return {call}({argument})"],
        ))

    def _define_one(self, body, argument):
        name = self.names.function()
        if self.random.random() < 0.25:
            owner, variable = self.names.type(), self.names.noun()
            self.blocks.append("\n".join([f"class {owner}:", f"    def {name}(self, {argument}):",
                                          *indent(body, 2), "", "", f"{variable} = {owner}()"]))
            return f"{variable}.{name}"
        self.blocks.append("\n".join([f"def {name}({argument}):", *indent(body)]))
        return name

    def text(self, facts):
        """Returns {file name: text}; the first is the script."""
        main = self.names.function() if self.random.random() < 0.5 else "main"
        title = f"{self.names.noun()} of {self.names.noun()}".capitalize()
        loop = [f"for i in range({self.count}):", "    ctx.step = i", *indent(self.loop)]
        body = "\n\n\n".join([HEADER.format(title=title, facts=facts), *self.blocks,
                              "\n".join([f"def {main}():",
                                         *indent(self.setup + loop + self.after)])])
        script = self.names.file()
        if self.random.random() < 0.5:
            return {f"{script}.py": f'{body}\n\n\nif __name__ == "__main__":\n    {main}()\n'}
        module = self.names.file()
        caller = f'import {module}\n\nif __name__ == "__main__":\n    {module}.{main}()\n'
        return {f"{script}.py": caller, f"{module}.py": f"{body}\n"}
