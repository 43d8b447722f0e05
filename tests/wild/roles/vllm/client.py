"""Asks the completions API, one request after the other.

client.py PORT REQUESTS [DATA_PARALLEL_RANK]
"""
import json
import sys
import time
import urllib.error
import urllib.request

import run_folder

URL = f"http://127.0.0.1:{sys.argv[1]}"
HEADERS = {"content-type": "application/json"}
if len(sys.argv) > 3:
    HEADERS["X-data-parallel-rank"] = sys.argv[3]


def is_up():
    try:
        with urllib.request.urlopen(URL + "/health"):
            return True
    except OSError:
        return False


def ask(number):
    body = {"model": "chat", "prompt": [5, 6, 7 + number % 100], "max_tokens": 32,
            "ignore_eos": True, "stream": True}
    request = urllib.request.Request(URL + "/v1/completions", json.dumps(body).encode(), HEADERS)
    with urllib.request.urlopen(request) as answer:
        for _ in answer:
            pass


def main():
    while not is_up():
        time.sleep(0.5)
    for number in range(int(sys.argv[2])):
        ask(number)
        run_folder.count("client")


if __name__ == "__main__":
    main()
