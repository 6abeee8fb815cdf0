"""A client with requests or aiohttp: python3 client.py LIBRARY MODE. It exits with 77 if the library is not installed."""
import asyncio
import email.utils
import importlib.util
import os
import sys
import threading
import time

BASE, KEY = os.environ["CONFORM_PROXY_URL"], os.environ["CLIENT_KEY"]
URL, HEADERS = f"{BASE}/pets?limit=1", {"Authorization": f"Bearer {KEY}"}
LIBRARY, MODE = sys.argv[1:]

if importlib.util.find_spec(LIBRARY) is None:
    sys.exit(77)


def told(value):
    """Seconds to wait, for both forms of RFC 9110."""
    if value is None:
        return 4.0
    if value.isdigit():
        return float(value)
    return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())


def opened():
    """A function that lists once: the status, and what Retry-After says."""
    import requests
    session = requests.Session()

    def ask():
        answer = session.get(URL, headers=HEADERS)
        return answer.status_code, answer.headers.get("Retry-After")
    return ask


def threads(count, each, ask_of):
    """Threads that share a gate; each may have a connection of its own."""
    until, lock = [0.0], threading.Lock()

    def work():
        ask, done = ask_of(), 0
        while done < each:
            if (left := until[0] - time.time()) > 0:
                time.sleep(left)
                continue
            status, retry_after = ask()
            if status == 429:
                with lock:
                    until[0] = max(until[0], time.time() + told(retry_after))
            else:
                done += 1
            time.sleep(0.01)
    workers = [threading.Thread(target=work) for _ in range(count)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]


async def tasks(count, each, heeds):
    """Tasks of one process, with a gate if they heed what they are told."""
    until = 0.0

    async def work(get):
        nonlocal until
        done = tries = 0
        while done < each and tries < 200:
            if heeds and (left := until - time.time()) > 0:
                await asyncio.sleep(left)
                continue
            status, retry_after = await get()
            tries += 1
            if status == 429:
                until = max(until, time.time() + told(retry_after))
            else:
                done += 1
            await asyncio.sleep(0.01)
    import aiohttp
    async with aiohttp.ClientSession(headers=HEADERS) as client:
        async def get():
            async with client.get(URL) as answer:
                await answer.read()
                return answer.status, answer.headers.get("Retry-After")
        await asyncio.gather(*(work(get) for _ in range(count)))


def jobs():
    """Jobs one after the other, each tried again at once. The pauses between them show a single task."""
    ask = opened()
    for _ in range(24):
        time.sleep(0.06)
        for _ in range(5):
            if ask()[0] != 429:
                break
            # Not within the second that the client's other connections have to learn of a refusal.
            time.sleep(0.02)


if LIBRARY == "aiohttp":
    asyncio.run(tasks(10, 3, MODE == "tasks"))
elif MODE == "threads":
    threads(6, 5, opened)
elif MODE == "pool":
    shared = opened()
    threads(6, 5, lambda: shared)
else:
    jobs()
