"""Stories in which ranks have roles: servers and clients, producers and consumers, engines and
those that ask them. As in stories.py. And what lives beside a job and has no part in its hang.
"""

from faults import FAULTY, FOREVER
from stories import Story, _collective, _two, _until

SERVED = ("stuck_rank", "skipped_collective", "external_wait", "resource_cycle", "lock_deadlock",
          "input_stall", "io_stall")


def _serve(path, lines):
    """Returns the lines of a rank that serves at a port, which it writes into the file."""
    return [*lines, f"open('{path}.new', 'w').write(str(port))",
            f"os.rename('{path}.new', '{path}')"]


def _port(path):
    return [*_until(path), f"port = int(open('{path}').read())"]


def _indent(lines):
    return ["    " + line for line in lines]


def rpc_handler(random, names, server, client):
    """A handler of the server sleeps; its main thread waits in the collective with all others."""
    path, ask, collective = names.noun(), names.function(), _collective(random)
    serve = _serve(path, [
        "import xmlrpc.server",
        "door = xmlrpc.server.SimpleXMLRPCServer(('127.0.0.1', 0), logRequests=False)",
        "port = door.server_address[1]", "", f"def {ask}():", f"    {FAULTY}", f"    {FOREVER}", "",
        f"door.register_function({ask}, '{ask}')",
        "threading.Thread(target=door.serve_forever, daemon=True).start()"])
    return Story("rpc_handler", [
        f"if RANK == {server}:", *_indent(serve), f"elif RANK == {client}:",
        "    import xmlrpc.client", *_indent(_port(path)), f"    {FAULTY}",
        f"    xmlrpc.client.ServerProxy('http://127.0.0.1:%d' % port).{ask}()", *collective],
        [[server]], SERVED,
        f"a handler of rank {server} sleeps, for which rank {client} waits", [server, client])


def rpc_circle(random, names, first, second):
    """Two servers of one thread each ask each other."""
    one, other, ask, relay = names.noun(), names.noun(), names.function(), names.function()

    def serve(own, peer):
        return [*_serve(own, [
            "import xmlrpc.client, xmlrpc.server",
            "door = xmlrpc.server.SimpleXMLRPCServer(('127.0.0.1', 0), logRequests=False)",
            "port = door.server_address[1]"]), "", f"def {relay}():", *_indent(_port(peer)),
            f"    open('{own}.begun', 'w').close()", *_indent(_until(f"{peer}.begun")),
            f"    {FAULTY}",
            f"    return xmlrpc.client.ServerProxy('http://127.0.0.1:%d' % port).{ask}()", "",
            f"door.register_function(int, '{ask}')",
            f"door.register_function({relay}, '{relay}')",
            "threading.Thread(target=door.serve_forever, daemon=True).start()",
            f"xmlrpc.client.ServerProxy('http://127.0.0.1:%d' % port).{relay}()"]

    return Story("rpc_circle", _two(first, serve(one, other), second, serve(other, one)),
                 [sorted([first, second])], SERVED,
                 f"the servers of ranks {first} and {second} wait for each other",
                 [first, second])


def queue_of_rank(random, names, owner, consumer):
    """The producer is the owner's thread, which sleeps."""
    path, box, make = names.noun(), names.noun(), names.function()
    serve = _serve(path, [
        "from multiprocessing.managers import BaseManager", f"{box} = queue.Queue()", "",
        f"class {make.title().replace('_', '')}(BaseManager):", "    pass", "",
        f"{make.title().replace('_', '')}.register('get_queue', callable=lambda: {box})",
        f"door = {make.title().replace('_', '')}(('127.0.0.1', 0), b'key').get_server()",
        "port = door.address[1]", "threading.Thread(target=door.serve_forever, daemon=True).start()"])
    ask = ["from multiprocessing.managers import BaseManager", *_port(path), "",
           f"class {make.title().replace('_', '')}(BaseManager):", "    pass", "",
           f"{make.title().replace('_', '')}.register('get_queue')",
           f"link = {make.title().replace('_', '')}(('127.0.0.1', port), b'key')", "link.connect()",
           f"{FAULTY}", "item = link.get_queue().get()"]
    return Story("queue_of_rank", _two(owner, [*serve, FAULTY, FOREVER], consumer, ask),
                 [[owner]], SERVED,
                 f"rank {owner} sleeps before it fills the queue from which rank {consumer} takes",
                 [owner, consumer])


def engine_thread(random, names, rank, other):
    """The thread that makes the rank's part of a collective sleeps, and its main thread waits for
    it; another thread rests in a group of its own."""
    group, done = names.noun(), names.noun()
    work, beat = names.function(), names.function()
    return Story("engine_thread", [
        f"{done} = queue.Queue()", "", f"def {work}():", f"    if RANK == {rank}:",
        f"        {FAULTY}", f"        {FOREVER}", "    dist.all_reduce(torch.ones(16))",
        f"    {done}.put(1)", "", f"def {beat}():", f"    if RANK != {other}:",
        f"        dist.barrier(group=ctx.{group})", "",
        f"threading.Thread(target={beat}, daemon=True).start()",
        f"threading.Thread(target={work}, daemon=True).start()", f"{done}.get()"],
        [[rank]], SERVED,
        f"the thread of rank {rank} that makes its collectives sleeps", [rank],
        prepare=[f"ctx.{group} = dist.new_group(list(range(WORLD)))"])


def idle_engine(random, names, front, other):
    """Nobody asks: an engine's front waits for requests, and all others for its broadcast."""
    box, listen = names.noun(), names.function()
    return Story("idle_engine", [
        f"if RANK == {front}:", f"    {box} = queue.Queue()",
        "    door = socket.create_server(('127.0.0.1', 0))", "", f"    def {listen}():",
        "        while True:", "            link, _ = door.accept()",
        f"            {box}.put(link.recv(100))", "",
        f"    threading.Thread(target={listen}, daemon=True).start()", f"    {FAULTY}",
        f"    {box}.get()", f"dist.broadcast(torch.ones(8), src={front})"],
        [[]], ("healthy", "unknown", "external_wait"),
        f"nobody has asked: rank {front} waits for requests", [front], unknown_is_right=True)


def pipe_of_ranks(random, names, reader, writer):
    """A named pipe between two ranks: the writer sleeps with it open."""
    path = names.noun()
    return Story("pipe_of_ranks", _two(
        reader, [*_until(path), f"{FAULTY}", f"text = open('{path}').read()"],
        writer, [f"os.mkfifo('{path}')", f"file = open('{path}', 'w')", FAULTY, FOREVER]),
        [[writer]], SERVED,
        f"rank {writer} sleeps, and rank {reader} reads its named pipe", [reader, writer])


def child_of_other(random, names, client, server):
    """A child of one rank serves another one, and sleeps."""
    path, ask = names.noun(), names.function()
    serve = _serve(path, [
        "door = socket.create_server(('127.0.0.1', 0))", "port = door.getsockname()[1]", "",
        f"def {ask}():", "    link, _ = door.accept()", f"    {FOREVER}", "",
        f"child = multiprocessing.get_context('fork').Process(target={ask}, daemon=True)",
        "child.start()", "door.close()"])
    return Story("child_of_other", [
        f"if RANK == {server}:", *_indent(serve), f"elif RANK == {client}:",
        *_indent(_port(path)),
        "    link = socket.create_connection(('127.0.0.1', port))", f"    {FAULTY}",
        "    answer = link.recv(10)", *_collective(random)],
        [[server]], (*SERVED, "child_deadlock"),
        f"a child of rank {server} does not answer rank {client}", [client])


def coroutine_of_rank(random, names, owner, client):
    """A coroutine of a server that its rank's thread runs has the question, and does not answer."""
    path, ask, serve, state = names.noun(), names.function(), names.function(), names.noun()
    waits = random.choice(["await asyncio.Event().wait()", "await asyncio.sleep(10 ** 6)",
                           f"await {state}.get()", f"await {state}.put(line)",
                           "await asyncio.get_running_loop().create_future()"])
    local = random.random() < 0.3
    start = (f"door = await asyncio.start_unix_server({ask}, '{path}.sock'); port = 0" if local
             else f"door = await asyncio.start_server({ask}, '127.0.0.1', 0); "
                  "port = door.sockets[0].getsockname()[1]")
    connect = ([*_port(path), "link = socket.socket(socket.AF_UNIX)",
                f"link.connect('{path}.sock')"] if local
               else [*_port(path), "link = socket.create_connection(('127.0.0.1', port))"])
    return Story("coroutine_of_rank", [
        f"if RANK == {owner}:", f"    async def {serve}():",
        f"        {state} = asyncio.Queue(1)",
        *(["        await " + state + ".put(0)"] if ".put(" in waits else []), "",
        f"        async def {ask}(reader, writer):",
        "            while line := await reader.readline():", f"                {FAULTY}",
        f"                {waits}",
        "                writer.write(line)", "                await writer.drain()", "",
        f"        {start}", *["    " * 2 + line for line in _serve(path, [])],
        "        await door.serve_forever()", "",
        f"    threading.Thread(target=lambda: asyncio.run({serve}()), daemon=True).start()",
        f"elif RANK == {client}:", *_indent(connect), f"    {FAULTY}",
        "    link.sendall(b'a\\n')", "    link.recv(10)", *_collective(random)],
        [[owner]], SERVED,
        f"a coroutine of rank {owner} does not answer, and rank {client} waits for it",
        [owner, client])


ROLES = (rpc_handler, rpc_circle, queue_of_rank, engine_thread, idle_engine, pipe_of_ranks,
         child_of_other, coroutine_of_rank)


def _thread(target, *lines):
    return [*lines, f"threading.Thread(target={target}, daemon=True).start()"]


def bystander(random, names):
    """Returns lines of the set-up that add something that has no part in the job's work."""
    name, run = names.noun(), names.function()
    loop = [f"def {run}():", "    while True:"]
    return random.choice((
        _thread(run, f"ctx.{name} = queue.Queue()", "", *loop, f"        ctx.{name}.get()", ""),
        _thread(run, f"ctx.{name} = threading.Event()", "", *loop,
                f"        ctx.{name}.wait(0.5)", ""),
        _thread(run, *loop, f"        time.sleep({random.choice((0.1, 1, 30))})", ""),
        _thread(run, f"ctx.{name} = socket.create_server(('127.0.0.1', 0))", "", *loop,
                f"        ctx.{name}.accept()", ""),
        _thread(f"ctx.{name}.run_forever", f"ctx.{name} = asyncio.new_event_loop()"),
        _thread(f"ctx.{name}.serve_forever", "import http.server",
                f"ctx.{name} = http.server.ThreadingHTTPServer(('127.0.0.1', 0), "
                "http.server.BaseHTTPRequestHandler)"),
        [f"ctx.{name} = concurrent.futures.ThreadPoolExecutor(2)",
         f"ctx.{name}.submit(int).result()"],
        [f"ctx.{name} = multiprocessing.get_context('fork').Pool(1)"],
        [f"ctx.{name} = multiprocessing.get_context('fork').Manager()"],
        [f"ctx.{name} = subprocess.Popen(['sleep', '1000000'])"],
        [f"ctx.{name} = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)"],
        [f"ctx.{name} = open(f'log-{{RANK}}', 'a')", f"fcntl.flock(ctx.{name}, fcntl.LOCK_EX)"],
        _thread(run, f"ctx.{name} = os.pipe()", "", *loop, f"        os.read(ctx.{name}[0], 10)", "")))
