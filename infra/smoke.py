#!/usr/bin/env python3
"""Takes a deployed Reverie through its main job, over HTTP alone.

    infra/smoke.py URL [--idle SECONDS]

In a workspace of its own: messages become conclusions, a dream is asked for and completes, its history is read, and it
is undone. With --idle it then waits for a dream that nobody asked for, which needs a deployment with short settings:
a threshold of at most 4, a cooldown and an idle time of seconds. Exits with 1 and says why when a step fails.
"""

import argparse
import json
import sys
import time
import urllib.error
import urllib.request
import uuid

FIRST = [
    ("maya", "I live in Berlin. I work as a nurse at the Charité."),
    ("ben", "Nice! How long have you been there?"),
    ("maya", "I have a dog named Pixel. I love rock climbing."),
]
LATER = [("maya", "I moved to Hamburg last week. I live in Hamburg now."), ("maya", "I have a cat named Byte.")]


class Reverie:
    def __init__(self, url: str, workspace: str) -> None:
        self.url, self.workspace = url.rstrip("/"), workspace

    def call(self, method: str, path: str, body: object = None) -> tuple[int, object]:
        request = urllib.request.Request(
            f"{self.url}/v3/workspaces{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        return status, json.loads(text) if text else None

    def expect(self, wanted: int, method: str, path: str, body: object = None) -> object:
        status, answer = self.call(method, path, body)
        if status != wanted:
            fail(f"{method} {path} gave {status} instead of {wanted}: {answer}")
        return answer

    def say(self, session: str, messages: list[tuple[str, str]]) -> None:
        body = {"messages": [{"peer_id": peer, "content": content} for peer, content in messages]}
        self.expect(201, "POST", f"/{self.workspace}/sessions/{session}/messages", body)

    def conclusions(self) -> dict[str, str]:
        filters = {"filters": {"observer": "maya", "observed": "maya"}}
        page = self.expect(200, "POST", f"/{self.workspace}/conclusions/list?size=100", filters)
        return {item["id"]: item["content"] for item in page["items"]}

    def dreams(self) -> list[dict]:
        return self.expect(200, "GET", f"/{self.workspace}/dreams?observer=maya&observed=maya")["items"]

    def status(self) -> dict:
        return self.expect(200, "GET", f"/{self.workspace}/dreams/status?observer=maya&observed=maya")

    def ended(self, run: str, seconds: float) -> dict:
        def look() -> dict | None:
            found = self.expect(200, "GET", f"/{self.workspace}/dreams/{run}")
            return found if found["status"] not in ("pending", "running") else None

        found = wait(f"dream {run} to end", seconds, look)
        if found["status"] != "completed" or found["error"]:
            fail(f"dream {run} is {found['status']}: {found['error']}")
        return found


def fail(why: str) -> None:
    print(f"FAILED  {why}", file=sys.stderr)
    sys.exit(1)


def wait(what: str, seconds: float, look):
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        found = look()
        if found:
            print(f"ok      {what}: after {time.monotonic() - start:.1f} s")
            return found
        time.sleep(0.5)
    fail(f"{what}: not within {seconds:.0f} s")


def tell(detail: dict) -> None:
    for created in detail["created"]:
        print(f"        + {created['conclusion']['content']}  (from {len(created['sources'])})")
    for removed in detail["removed"]:
        print(f"        - {removed['content']}  ({removed['reason']})")
    if detail["peer_card"]:
        print(f"        card: {detail['peer_card']['after']}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("url")
    options.add_argument("--idle", type=float, default=0, metavar="SECONDS", help="wait for an idle dream this long")
    given = options.parse_args()

    reverie = Reverie(given.url, f"smoke-{uuid.uuid4().hex[:8]}")
    reverie.expect(201, "POST", "", {"id": reverie.workspace})
    reverie.say("first", FIRST)
    wait("conclusions to appear", 60, lambda: len(reverie.conclusions()) >= 4)
    reverie.say("second", LATER)
    wait("the later conclusions", 60, lambda: any("cat" in text for text in reverie.conclusions().values()))
    before = reverie.conclusions()

    known = {run["id"] for run in reverie.dreams()}
    reverie.expect(204, "POST", f"/{reverie.workspace}/schedule_dream", {"observer": "maya", "dream_type": "omni"})
    asked = wait("a dream to be there", 60, lambda: [run["id"] for run in reverie.dreams() if run["id"] not in known])
    detail = reverie.ended(asked[0], 120)
    tell(detail)
    if not detail["created"] and not detail["removed"]:
        fail("the dream changed nothing")
    after = reverie.conclusions()
    if after == before:
        fail("the conclusions are what they were before the dream")

    undo = reverie.expect(202, "POST", f"/{reverie.workspace}/dreams/{asked[0]}/undo")["id"]
    undone = reverie.ended(undo, 120)
    if undone["undo_of"] != asked[0] or reverie.conclusions() != before:
        fail(f"the undo left {reverie.conclusions()} instead of {before}")
    print("ok      the undo restored every conclusion")

    if given.idle:
        reverie.say("third", [("maya", f"My favourite {thing} is number {place}.") for place, thing in enumerate(
            ["colour", "song", "book", "film"])])
        idle = wait(
            "an idle dream", given.idle, lambda: [run["id"] for run in reverie.dreams() if run["trigger"] == "idle"]
        )
        tell(reverie.ended(idle[0], 120))
    print(f"        {reverie.status()['verdict']}: {reverie.status()['sentence']}")


if __name__ == "__main__":
    main()
