"""The main job of Dabba with Python's standard library alone. Usage: client.py http://127.0.0.1:8080

Each step checks what came back; the first surprise ends the program with exit code 1 and says what it was.
"""

import http.client
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

URL = sys.argv[1]


def api(method, path, document=None, **headers):
    """Sends JSON with urllib and returns the decoded answer."""
    data = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(URL + path, data=data, method=method)
    if data is not None:
        request.add_header("Content-Type", "application/json")
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    with urllib.request.urlopen(request, timeout=60) as response:
        content = response.read()
        return json.loads(content) if content else None


def refused(method, path, document=None):
    """Sends what must be refused and returns the problem."""
    try:
        answer = api(method, path, document)
    except urllib.error.HTTPError as error:
        check("application/problem+json", error.headers["Content-Type"])
        problem = json.load(error)
        check(error.code, problem["status"])
        return problem
    sys.exit(f"{method} {path} was answered {answer}, it should have been refused")


def check(want, got):
    if want != got:
        raise SystemExit(f"wanted {want!r}, got {got!r}")


def receive(queue, **request):
    return api("POST", f"/v1/queues/{queue}/receive", request)["messages"]


def settle(queue, verb, **request):
    results = api("POST", f"/v1/queues/{queue}/{verb}", request)["results"]
    check([True] * len(results), [result.get("ok") for result in results])


def main():
    api("PUT", "/v1/queues/dead")
    api("PUT", "/v1/queues/jobs", {
        "visibility": "1m",
        "retry": {"policy": "fixed", "base": 0.1, "jitter": "none", "max_receives": 3},
        "dead_letter": {"queue": "dead"},
    })

    # One message, in text that is not plain ASCII, with attributes.
    text = "Grüße, 世界 🍱"
    sent = api("POST", "/v1/queues/jobs/messages", {"body": text, "attributes": {"kind": "greeting"}}, Idempotency_Key="greet-1")
    again = api("POST", "/v1/queues/jobs/messages", {"body": text, "attributes": {"kind": "greeting"}}, Idempotency_Key="greet-1")
    check({"id": sent["id"], "duplicate": True}, again)
    [message] = receive("jobs", wait="20s", consumer="python")
    check((sent["id"], text, {"kind": "greeting"}, 1), (message["id"], message["body"], message["attributes"], message["receives"]))
    settle("jobs", "extend", receipts=[message["receipt"]], visibility="5m")
    settle("jobs", "ack", receipts=[message["receipt"]])
    settle("jobs", "ack", receipts=[message["receipt"]])  # a repeat does no harm
    [result] = api("POST", "/v1/queues/jobs/ack", {"receipts": ["no receipt"]})["results"]
    check("receipt_invalid", result["error"]["code"])

    # Many at once, received in order.
    many = [{"body": str(i)} for i in range(500)]
    results = api("POST", "/v1/queues/jobs/messages", {"messages": many})["results"]
    check(500, len({result["id"] for result in results}))
    got = []
    while len(got) < 500:
        batch = receive("jobs", max=100, wait="20s")
        settle("jobs", "ack", receipts=[m["receipt"] for m in batch])
        got += [m["body"] for m in batch]
    check([str(i) for i in range(500)], got)

    # A receive that waits is woken by a send.
    woken = []
    waiter = threading.Thread(target=lambda: woken.extend(receive("jobs", wait="30s")))
    waiter.start()
    while b"dabba_waiting_receives 1\n" not in urllib.request.urlopen(URL + "/metrics", timeout=60).read():
        pass
    begun = time.monotonic()
    api("POST", "/v1/queues/jobs/messages", {"body": "wake up"})
    waiter.join()
    check(["wake up"], [m["body"] for m in woken])
    if time.monotonic() - begun > 10:
        sys.exit("the receive that waited was woken only after 10 s")

    # Nacked until it is dead.
    [message] = woken
    for receives in (1, 2, 3):
        check(receives, message["receives"])
        settle("jobs", "nack", items=[{"receipt": message["receipt"], "reason": f"try {receives}"}])
        if receives < 3:
            [message] = receive("jobs", wait="20s")
    [dead] = receive("dead", wait="20s")
    check(("wake up", "jobs", "try 3", 3), (dead["body"], dead["origin"]["queue"], dead["origin"]["reason"], dead["origin"]["receives"]))
    settle("dead", "ack", receipts=[dead["receipt"]])

    # Bytes as they are, both ways, on one connection of http.client.
    address = urllib.parse.urlsplit(URL)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    photo = os.urandom(300_000) + bytes(range(256))
    connection.request("POST", "/v1/queues/jobs/messages", body=photo,
                       headers={"Content-Type": "image/png", "Dabba-Attr-Album": "summer"})
    response = connection.getresponse()
    check(200, response.status)
    photo_id = json.load(response)["id"]
    connection.request("POST", "/v1/queues/jobs/receive?wait=20s", headers={"Accept": "application/octet-stream"})
    response = connection.getresponse()
    check((200, "image/png", photo_id, "summer"), (response.status, response.headers["Content-Type"],
                                                   response.headers["Dabba-Id"], response.headers["Dabba-Attr-Album"]))
    check(photo, response.read())
    connection.request("DELETE", "/v1/queues/jobs/messages/" + response.headers["Dabba-Receipt"])
    response = connection.getresponse()
    check((204, b""), (response.status, response.read()))
    connection.request("POST", "/v1/queues/jobs/receive", headers={"Accept": "application/octet-stream"})
    response = connection.getresponse()
    check((204, b""), (response.status, response.read()))

    # A body in chunks, as from a generator.
    connection.request("POST", "/v1/queues/jobs/messages", body=(b"part %d " % i for i in range(3)),
                       headers={"Content-Type": "text/plain"}, encode_chunked=True)
    response = connection.getresponse()
    check((200, True), (response.status, "id" in json.load(response)))
    [message] = receive("jobs", wait="20s")
    check(("part 0 part 1 part 2 ", "text/plain"), (message["body"], message["content_type"]))
    settle("jobs", "ack", receipts=[message["receipt"]])
    connection.close()

    # Mistakes are explained.
    check("not_found", refused("GET", "/v1/queues/nowhere")["code"])
    check("unknown_field", refused("POST", "/v1/queues/jobs/messages", {"boddy": "x"})["code"])
    check("conflict", refused("DELETE", "/v1/queues/dead")["code"])

    check({"ready": 0, "leased": 0, "delayed": 0, "dead": 0, "bytes": 0}, api("GET", "/v1/queues/jobs")["counts"])
    api("DELETE", "/v1/queues/jobs")
    api("DELETE", "/v1/queues/dead")
    print("all well")


main()
