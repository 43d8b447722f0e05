"""Two ranks. Rank 0 serves rank 1 in a thread, and its main thread waits for what rank 1 is to send;
rank 1 waits for an answer of that thread, which sleeps: threaded_server.py FOLDER WAY, with RANK.
WAY: how the connection is served."""

import os
import socket
import socketserver
import sys
import threading
import time
import xmlrpc.client
import xmlrpc.server
from multiprocessing.connection import Client, Listener

FOLDER, WAY = sys.argv[1:]
RANK = int(os.environ["RANK"])


def say(name, text=""):
    with open(os.path.join(FOLDER, name + ".new"), "w", encoding="utf-8") as file:
        file.write(str(text))
    os.rename(os.path.join(FOLDER, name + ".new"), os.path.join(FOLDER, name))


def read(name):
    while not os.path.exists(os.path.join(FOLDER, name)):
        time.sleep(0.02)
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def answer(*_):
    say("asleep")
    time.sleep(10**6)


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(10)
        answer()


class Session:
    """Has the connection as an attribute."""

    def __init__(self, link):
        self.link = link

    def run(self):
        self.link.recv(10)
        answer()


def serve_links(door):
    while True:
        link, _ = door.accept()
        threading.Thread(target=Session(link).run, daemon=True).start()
        del link


def serve_messages(listener):
    link = listener.accept()
    link.recv()
    answer()


def start_server():
    """Returns the address."""
    if WAY == "socketserver":
        door = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=door.serve_forever, daemon=True).start()
        return door.server_address[1]
    if WAY == "xmlrpc":
        door = xmlrpc.server.SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False)
        door.register_function(answer, "answer")
        threading.Thread(target=door.serve_forever, daemon=True).start()
        return door.server_address[1]
    if WAY == "messages":
        listener = Listener(("127.0.0.1", 0))
        threading.Thread(target=serve_messages, args=(listener,), daemon=True).start()
        return listener.address[1]
    if WAY == "local":
        path = os.path.join(FOLDER, "socket")
        door = socket.socket(socket.AF_UNIX)
        door.bind(path)
        door.listen()
    else:
        door = socket.create_server(("127.0.0.1", 0))
        path = door.getsockname()[1]
    threading.Thread(target=serve_links, args=(door,), daemon=True).start()
    return path


def ask(address):
    if WAY == "xmlrpc":
        xmlrpc.client.ServerProxy(f"http://127.0.0.1:{address}").answer()
    elif WAY == "messages":
        with Client(("127.0.0.1", int(address))) as link:
            link.send(1)
            link.recv()
    else:
        link = socket.socket(socket.AF_UNIX) if WAY == "local" else socket.socket()
        link.connect(address if WAY == "local" else ("127.0.0.1", int(address)))
        link.sendall(b"x")
        link.recv(10)


say(f"pid.{RANK}", os.getpid())
if RANK == 0:
    results = socket.create_server(("127.0.0.1", 0))
    say("results", results.getsockname()[1])
    say("address", start_server())
    RESULT, _ = results.accept()
    RESULT.recv(10)
else:
    RESULT = socket.create_connection(("127.0.0.1", int(read("results"))))
    ask(read("address"))
    RESULT.sendall(b"done")
