#!/usr/bin/env python3
"""Measures the functions' release binaries: CPU time and memory of their start, CPU time of a cold and of a warm request.

    infra/build.sh && infra/measure.py [--binaries target/lambda] [--runs 15] [--requests 200] [--endpoint URL] [--bar MS]

Each binary runs as on Lambda: it polls this script, which speaks Lambda's Runtime API, and gets one request at a time.
So the start ends exactly at the first poll, which an emulator that starts a function with its first request cannot show.
CPU time is what the kernel counted for all threads, user and system, in nanoseconds; the figures are medians over runs,
of warm requests over all requests of all runs.

Without --endpoint the requests touch nothing: GET /health, empty batches. With an emulator of DynamoDB and SQS at URL
the API stores a message, ingest derives from it, and the dream executor looks at a representation that is not there.
With --bar the exit code is 1 when a start takes more CPU time.
"""

import argparse
import http.server
import json
import os
import pathlib
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid

FUNCTIONS = ["api", "ingest", "dream-executor"]
PATIENCE = 30  # seconds for a poll or an answer


class Runtime:
    """One binary, from its start to its end, and Lambda's side of the Runtime API."""

    def __init__(self, binary: pathlib.Path, environment: dict[str, str]) -> None:
        self.events: queue.Queue = queue.Queue()
        self.polls: queue.Queue = queue.Queue()
        runtime = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                runtime.polls.put(runtime.cpu())
                event = runtime.events.get()
                if event is None:
                    return
                self.send_response(200)
                self.send_header("Lambda-Runtime-Aws-Request-Id", str(uuid.uuid4()))
                self.send_header("Lambda-Runtime-Deadline-Ms", str(int(time.time() * 1000) + 120_000))
                self.send_header("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:1:function:f")
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(event)))
                self.end_headers()
                self.wfile.write(event)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if body == b"" and self.headers.get("Transfer-Encoding") == "chunked":
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                runtime.answer = (self.path.rsplit("/", 1)[1], body.decode())
                self.send_response(202)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.answer = ("", "")
        self.log = tempfile.TemporaryFile()
        address = f"127.0.0.1:{self.server.server_port}"
        ready = threading.Event()
        self.cpu = lambda: (ready.wait(), self.cpu_of())[1]
        self.process = subprocess.Popen(
            [binary], env=environment | {"AWS_LAMBDA_RUNTIME_API": address}, stdout=self.log, stderr=self.log
        )
        ready.set()
        self.start = self.poll()
        self.start_memory = self.memory()

    def cpu_of(self) -> float:
        """CPU time of all threads so far, in milliseconds."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e6

    def memory(self) -> float:
        """Resident memory, in MB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def poll(self) -> float:
        """Waits until the binary asks for a request; gives its CPU time so far."""
        try:
            return self.polls.get(timeout=PATIENCE)
        except queue.Empty:
            self.log.seek(0)
            sys.exit(f"{self.process.args[0]} does not poll:\n{self.log.read().decode(errors='replace')[-2000:]}")

    def request(self, event: object) -> tuple[float, str]:
        """CPU time of one request, and its answer."""
        before = self.cpu()
        self.events.put(json.dumps(event).encode())
        cpu = self.poll() - before
        kind, body = self.answer
        if kind != "response":
            sys.exit(f"{self.process.args[0]} failed: {body}")
        return cpu, body

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.events.put(None)
        self.server.shutdown()
        self.server.server_close()


class Services:
    """DynamoDB and SQS of an emulator, as far as the functions need them."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint, self.table = endpoint, f"reverie-{uuid.uuid4().hex[:8]}"
        keys = ["PK", "SK", "due_pk", "due_sk", "peer_pk", "peer_sk"]

        def schema(pair: list[str]) -> list[dict]:
            return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(pair, ["HASH", "RANGE"])]

        def index(name: str, pair: list[str]) -> dict:
            return {"IndexName": name, "KeySchema": schema(pair), "Projection": {"ProjectionType": "KEYS_ONLY"}}

        self.call("dynamodb", "DynamoDB_20120810.CreateTable", {
            "TableName": self.table,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in keys],
            "KeySchema": schema(keys[:2]),
            "GlobalSecondaryIndexes": [index("due", keys[2:4]), index("by_peer", keys[4:])],
        })
        queues = {name: self.create_queue(name) for name in ["ingest", "dreams"]}
        self.ingest = queues["ingest"]
        self.environment = {
            "AWS_ENDPOINT_URL": endpoint,
            "REVERIE_TABLE": self.table,
            "REVERIE_INGEST_QUEUE_URL": queues["ingest"],
            "REVERIE_DREAMS_QUEUE_URL": queues["dreams"],
        }

    def create_queue(self, name: str) -> str:
        attributes = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
        body = {"QueueName": f"{self.table}-{name}.fifo", "Attributes": attributes}
        return self.call("sqs", "AmazonSQS.CreateQueue", body)["QueueUrl"]

    def call(self, service: str, target: str, body: dict) -> dict:
        scope = f"test/20260101/us-east-1/{service}/aws4_request"
        headers = {
            "X-Amz-Target": target,
            "Content-Type": "application/x-amz-json-1.0",
            "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0",
        }
        request = urllib.request.Request(self.endpoint, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or b"{}")

    def receive(self) -> str:
        """The body of the next message for ingest."""
        answer = self.call("sqs", "AmazonSQS.ReceiveMessage", {"QueueUrl": self.ingest, "WaitTimeSeconds": 5})
        message = answer["Messages"][0]
        receipt = {"QueueUrl": self.ingest, "ReceiptHandle": message["ReceiptHandle"]}
        self.call("sqs", "AmazonSQS.DeleteMessage", receipt)
        return message["Body"]


def http_request(method: str, path: str, body: object = None) -> dict:
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"host": "reverie.example", "content-type": "application/json"},
        "requestContext": {
            "accountId": "1", "apiId": "a", "domainName": "reverie.example", "domainPrefix": "a", "requestId": "r",
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "-"},
            "routeKey": "$default", "stage": "$default", "time": "01/Jan/2026:00:00:00 +0000", "timeEpoch": 1767225600000,
        },
        **({} if body is None else {"body": json.dumps(body)}),
        "isBase64Encoded": False,
    }


def message(n: int) -> dict:
    body = {"messages": [{"peer_id": "maya", "content": f"I visited place number {n}."}]}
    return http_request("POST", "/v3/workspaces/w/sessions/s/messages", body)


def batch(*bodies: str) -> dict:
    records = [
        {
            "messageId": str(uuid.uuid4()), "receiptHandle": "r", "body": body,
            "attributes": {"MessageGroupId": "g", "ApproximateReceiveCount": "1"}, "messageAttributes": {},
            "md5OfBody": "", "eventSource": "aws:sqs", "awsRegion": "us-east-1",
            "eventSourceARN": "arn:aws:sqs:us-east-1:1:q.fifo",
        }
        for body in bodies
    ]
    return {"Records": records}


def requests(function: str, services: Services | None, api: pathlib.Path, environment: dict[str, str]):
    """The requests that a function gets, without end."""
    n = 0
    if services is None:
        while True:
            yield http_request("GET", "/health") if function == "api" else batch()
    if function == "api":
        while True:
            yield message(n := n + 1)
    if function == "dream-executor":
        while True:
            n += 1
            yield batch(json.dumps({"look": {"representation": "-" * 20, "generation": n}}))
    writer = Runtime(api, environment)
    try:
        while True:
            expect_created(writer.request(message(n := n + 1))[1])
            yield batch(services.receive())
    finally:
        writer.stop()


def expect_created(answer: str) -> None:
    if json.loads(answer).get("statusCode") != 201:
        sys.exit(f"a message was not stored: {answer}")


def measure(function: str, arguments: argparse.Namespace, services: Services | None) -> dict[str, float]:
    binary = arguments.binaries / function / "bootstrap"
    api = arguments.binaries / "api" / "bootstrap"
    environment = {
        "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_LAMBDA_FUNCTION_NAME": "f", "AWS_LAMBDA_FUNCTION_VERSION": "1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
        "RUST_LOG": "warn",
        "REVERIE_TABLE": "reverie",
        "REVERIE_INGEST_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/1/ingest.fifo",
        "REVERIE_DREAMS_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/1/dreams.fifo",
        "REVERIE_DREAMS_QUEUE_ARN": "arn:aws:sqs:us-east-1:1:dreams.fifo",
        "REVERIE_SCHEDULE_GROUP": "reverie",
        "REVERIE_SCHEDULE_ROLE_ARN": "arn:aws:iam::1:role/schedules",
        "REVERIE_SCHEDULE_DLQ_ARN": "arn:aws:sqs:us-east-1:1:schedules-dlq",
    } | (services.environment if services else {})
    starts, memories, colds, warms, grown = [], [], [], [], []
    events = requests(function, services, api, environment)
    for _ in range(arguments.runs):
        runtime = Runtime(binary, environment)
        starts.append(runtime.start)
        memories.append(runtime.start_memory)
        for n in range(max(1, arguments.requests // arguments.runs)):
            cpu, answer = runtime.request(next(events))
            if function == "api" and services:
                expect_created(answer)
            (warms if n else colds).append(cpu)
        grown.append(runtime.memory())
        runtime.stop()
    events.close()
    return {
        "size": binary.stat().st_size / 1e6,
        "start": statistics.median(starts),
        "memory": statistics.median(memories),
        "cold": statistics.median(colds),
        "warm": statistics.median(warms) if warms else float("nan"),
        "grown": statistics.median(grown),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=pathlib.Path, default=pathlib.Path("target/lambda"))
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--endpoint")
    parser.add_argument("--bar", type=float)
    arguments = parser.parse_args()
    print("| function | binary, MB | start, CPU ms | memory then, MB | cold request, CPU ms | warm request, CPU ms | memory at the end, MB |")
    print("|---|---|---|---|---|---|---|")
    slow = []
    for function in FUNCTIONS:
        services = Services(arguments.endpoint) if arguments.endpoint else None
        found = measure(function, arguments, services)
        print(
            f"| {function} | {found['size']:.1f} | {found['start']:.1f} | {found['memory']:.1f} "
            f"| {found['cold']:.1f} | {found['warm']:.2f} | {found['grown']:.1f} |",
            flush=True,
        )
        if arguments.bar is not None and found["start"] > arguments.bar:
            slow.append(function)
    if slow:
        print(f"over {arguments.bar} ms of CPU to the first poll: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
