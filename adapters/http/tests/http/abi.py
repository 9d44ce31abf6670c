"""Drives the wire ABI of a Loom program with nothing but Python's standard library.

Usage: abi.py URL TOKEN. The program has the flows of `support.rs`. Everything is done twice: by REST and by JSON-RPC.
"""

import http.client
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

URL, TOKEN = sys.argv[1], sys.argv[2]


class Problem(Exception):
    """A refusal: RFC 9457, or the same in the `data` of a JSON-RPC error."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status, self.code = status, body["code"]


def http_call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(URL + path, data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=70) as response:
            text = response.read()
            return json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        raise Problem(error.code, json.loads(error.read())) from None


class Rest:
    """Finds each verb's route in the service's own description."""

    name = "rest"

    def __init__(self):
        self.routes = {}
        for path, methods in http_call("GET", "/v1/openapi.json")["paths"].items():
            for method, operation in methods.items():
                self.routes[operation["operationId"]] = (method.upper(), path)

    def call(self, verb, **args):
        method, path = self.routes[verb]
        for name in list(args):
            if "{%s}" % name in path:
                path = path.replace("{%s}" % name, urllib.parse.quote(args.pop(name), safe=""))
        if method == "GET":
            return http_call(method, path + ("?" + urllib.parse.urlencode(args) if args else ""))
        return http_call(method, path, args)


class Rpc:
    """JSON-RPC 2.0."""

    name = "rpc"
    ids = 0

    def call(self, verb, **args):
        Rpc.ids += 1
        call = {"jsonrpc": "2.0", "id": Rpc.ids, "method": f"loom.{verb}", "params": args}
        reply = http_call("POST", "/v1/rpc", call)
        assert reply["jsonrpc"] == "2.0" and reply["id"] == Rpc.ids, reply
        if "error" in reply:
            raise Problem(reply["error"]["data"]["status"], reply["error"]["data"])
        return reply["result"]


def refused(code, call, *args, **kwargs):
    try:
        done = call(*args, **kwargs)
    except Problem as problem:
        assert problem.code == code, f"expected {code}: {problem}"
        return
    raise AssertionError(f"expected {code}, was done: {done}")


class Stream:
    """Server-sent events over one connection."""

    def __init__(self, execution, last=None):
        host = urllib.parse.urlparse(URL).netloc
        self.connection = http.client.HTTPConnection(host, timeout=60)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        if last is not None:
            headers["Last-Event-ID"] = str(last)
        self.connection.request("GET", f"/v1/executions/{execution}/events", headers=headers)
        self.response = self.connection.getresponse()
        self.status = self.response.status

    def __iter__(self):
        message = {}
        for line in self.response:
            line = line.decode().rstrip("\n")
            if line == "":
                if "data" in message:
                    yield message.get("id"), message.get("event", "message"), json.loads(message["data"])
                message = {}
            elif not line.startswith(":"):
                name, _, value = line.partition(": ")
                message[name] = value

    def close(self):
        self.connection.close()


def drive(by):
    def name(text):
        return f"{by.name}-{text}"

    call = by.call

    # What is there.
    abi = call("abi")
    assert abi["abi"].split(".")[0] == "1", abi
    flows = {flow["name"]: flow for flow in call("flows")["flows"]}
    assert flows["checkout"]["gates"]["manager"]["type"] == "object", flows

    # Start, once.
    order = name("order")
    started = call("start", flow="checkout", input={"sku": "tea", "qty": 2}, id=order)
    assert started["execution"] == order and started["flow"] == "checkout", started
    assert call("start", flow="checkout", input={"sku": "tea", "qty": 2}, id=order)["execution"] == order
    refused("duplicate-start", call, "start", flow="checkout", input={"sku": "tea", "qty": 3}, id=order)
    refused("invalid-payload", call, "start", flow="checkout", input={"sku": "tea"})
    refused("unknown-flow", call, "start", flow="nope")

    # Look: the connection is cut after two events.
    stream, heard = Stream(order), []
    for sequence, event, data in stream:
        heard.append(int(sequence))
        assert event == "message" and data["sequence"] == heard[-1], data
        if len(heard) == 2:
            break
    stream.close()
    listed = call("list", flow="checkout", limit=10)
    assert order in [row["execution"] for row in listed["executions"]], listed

    # Answer.
    gates = None
    while not gates:
        gates = call("gates", execution=order)["gates"]
    assert gates[0]["address"] == f"{order}/manager", gates
    assert call("show", execution=order)["waits"][0]["type"] == "gate"
    assert call("result", execution=order, wait=0).get("outcome") is None
    refused("invalid-payload", call, "resume", execution=order, gate="manager", answer={"approved": "yes"})
    refused("unknown-gate", call, "resume", execution=order, gate="cashier", answer=1)
    call("resume", execution=order, gate="manager", answer={"approved": True}, by="ann")
    call("resume", execution=order, gate="manager", answer={"approved": True}, by="ann")
    refused("already-answered", call, "resume", execution=order, gate="manager", answer={"approved": False}, by="bob")

    # Wait for the result, and hear the rest.
    ended = call("result", execution=order, wait=30)
    assert ended["outcome"] == {"completed": "2 of tea"}, ended
    stream = Stream(order, last=heard[-1])
    for sequence, event, data in stream:
        if event == "message":
            heard.append(int(sequence))
        else:
            assert (event, sequence, data["status"]) == ("end", None, "completed"), (event, data)
    log = call("log", execution=order)
    assert heard == [event["sequence"] for event in log["events"]] == list(range(log["next"])), heard
    assert Stream(order, last=heard[-1]).status == 204
    assert call("state", execution=order, events=1)["next"] == 1

    # Messages, updates, queries, cancels.
    total = name("sum")
    call("start", flow="adder", id=total)
    assert call("update", execution=total, topic="numbers", body=40, key="first")["reply"] == 40
    assert call("update", execution=total, topic="numbers", body=40, key="first")["reply"] == 40
    refused("update-rejected", call, "update", execution=total, topic="numbers", body=-1)
    call("send", execution=total, topic="numbers", body=2, key="second")
    call("send", execution=total, topic="numbers", body=2, key="second")
    refused("key-reused", call, "send", execution=total, topic="numbers", body=3, key="second")
    assert call("update", execution=total, topic="numbers", body=8)["reply"] == 50
    assert call("query", execution=total, projection="sums") == {"added": [40, 2, 8]}
    refused("unknown-topic", call, "send", execution=total, topic="letters", body=1)
    refused("invalid-payload", call, "send", execution=total, topic="numbers", body="many")
    mailbox = name("mailbox")
    call("start", flow="mailbox", id=mailbox)
    refused("no-reply-yet", call, "update", execution=mailbox, topic="letters", body="x", wait=0)
    call("cancel", execution=total, reason="enough", by="ann")
    ended = call("result", execution=total, wait=30)
    assert ended["outcome"]["cancelled"] == {"reason": "enough", "by": "ann"}, ended
    refused("already-ended", call, "send", execution=total, topic="numbers", body=1)

    # A step in doubt.
    till = name("till")
    call("start", flow="till", input=13, id=till)
    refused("parked", call, "result", execution=till, wait=30)
    wait = call("show", execution=till)["waits"][0]
    assert (wait["type"], wait["frame"]) == ("verdict", "charge"), wait
    call("judge", execution=till, frame="charge", verdict={"done": "paid in cash"}, by="ann")
    assert call("result", execution=till, wait=30)["outcome"] == {"completed": "paid in cash"}
    refused("not-parked", call, "retry", execution=till)

    # Another way to go on.
    fork = name("fork")
    call("fork", execution=order, at=3, id=fork, by="ann")
    call("resume", execution=fork, gate="manager", answer={"approved": False})
    assert call("result", execution=fork, wait=30)["outcome"]["failed"]["code"] == "Declined"
    assert call("diff", a=order, b=fork)["shared"] == 3
    simulated = call("simulate", execution=order, at=3, gates={"manager": {"approved": False}})
    assert simulated["status"] == "failed", simulated
    branch = call("promote", branch=name("main"), execution=order)
    assert branch["version"] == 1, branch
    assert call("promote", branch=name("main"), execution=fork, **{"from": order})["version"] == 2
    refused("branch-moved", call, "promote", branch=name("main"), execution=total, **{"from": order})
    assert name("main") in [row["branch"] for row in call("branches")["branches"]]

    return {"abi", "flows", "start", "list", "gates", "show", "result", "resume", "log", "state", "update", "send",
            "query", "cancel", "judge", "retry", "fork", "diff", "simulate", "promote", "branches"}, abi


for way in (Rest(), Rpc()):
    driven, abi = drive(way)
    known = {method.removeprefix("loom.") for method in abi["methods"]}
    assert driven == known, driven ^ known

assert http_call("GET", "/healthz") == {"status": "ok"}
print("all of it")
