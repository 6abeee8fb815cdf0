"""Each row of the policy about clients, with the standard library and one connection: python3 policy.py MODE."""
import email.utils
import http.client
import json
import os
import sys
import time
import urllib.parse

BASE, KEY = urllib.parse.urlsplit(os.environ["CONFORM_PROXY_URL"]), os.environ["CLIENT_KEY"]
CONNECTION = http.client.HTTPConnection(BASE.netloc)


def under(scheme):
    return {"Authorization": f"{scheme} {KEY}"}


def ask(method, path, body=None, credential=under("Bearer")):
    """The status, Retry-After and the text of an answer."""
    headers = dict(credential)
    if body is not None:
        headers["Content-Type"] = "application/json"
    CONNECTION.request(method, BASE.path + path, body, headers)
    answer = CONNECTION.getresponse()
    return answer.status, answer.getheader("Retry-After"), answer.read()


def listed():
    return ask("GET", "/pets?limit=1")


def refused():
    """Lists until the key is refused; the seconds to wait."""
    while True:
        status, told, _ = listed()
        if status == 429:
            return float(told) if told.isdigit() else email.utils.parsedate_to_datetime(told).timestamp() - time.time()


def created():
    return json.loads(ask("POST", "/pets", '{"name":"Rex","categoryId":1}')[2])["id"]


def told():
    for _ in range(3):
        time.sleep(max(0.0, refused()))


def early():
    refused()
    for _ in range(5):
        time.sleep(0.6)
        listed()


def early_once():
    wait = refused()
    time.sleep(1.5)
    listed()
    time.sleep(wait)
    listed()


def hammer():
    refused()
    for _ in range(70):
        listed()


def key_in_query():
    ask("GET", f"/pets?api_key={KEY}", credential={})


def key_in_body():
    ask("POST", "/pets", json.dumps({"name": "Rex", "categoryId": 1, "apiKey": KEY}), credential={})


def key_in_path():
    listed()
    ask("GET", f"/{KEY}/pets", credential={})


def key_in_field():
    ask("GET", "/pets", credential={"X-Api-Key": KEY})


def key_outside():
    listed()
    CONNECTION.request("GET", f"/metrics?who={KEY}")
    CONNECTION.getresponse().read()


def scheme():
    listed()
    ask("GET", "/pets?limit=1", credential=under("Token"))


def scheme_case():
    listed()
    ask("GET", "/pets?limit=1", credential=under("bearer"))


def bad_body():
    for _ in range(6):
        ask("POST", "/pets", '{"name":"Rex"}')


def bad_query():
    for _ in range(6):
        ask("GET", "/pets?limit=1000")


def bad_values():
    for number in range(8):
        ask("POST", "/pets", json.dumps({"name": f"Rex {number}"}))


def double_ids():
    ask("GET", f"/pets/{int(float(created()))}")


def cut_ids():
    ask("GET", f"/pets/{created() & 0xffff_ffff}")


def separated_ids():
    ask("GET", f"/pets/{created():,}")


def exact_ids():
    identifier = created()
    for path in (identifier, identifier, 4711):
        ask("GET", f"/pets/{path}")


def removed():
    for _ in range(3):
        ask("GET", "/pets/2031")


globals()[sys.argv[1].replace("-", "_")]()
