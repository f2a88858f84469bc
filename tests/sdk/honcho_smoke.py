"""Drives `reverie serve` with Honcho's published SDK, and kills it in the middle.

    python honcho_smoke.py PATH_TO_REVERIE

Needs what requirements.txt names. Every check has a workspace of its own; the first that fails ends the run.
"""

import asyncio
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from honcho import BadRequestError, Honcho, NotFoundError, UnprocessableEntityError
from honcho.api_types import (
    DreamConfiguration,
    PeerConfig,
    ReasoningConfiguration,
    SessionConfiguration,
    SessionPeerConfig,
    SummaryConfiguration,
    WorkspaceConfiguration,
)

DEADLINE_SECONDS = 240
FACTS = [
    "I live in Portland, Oregon.",
    "I work at Intel as an engineer.",
    "I play the cello.",
    "I go climbing every Tuesday.",
    "I am allergic to peanuts.",
]
NEWS = ["I work at Qualcomm now.", "I play the cello.", "I moved to San Diego."]


class Server:
    """A `reverie serve` on a folder."""

    def __init__(self, program, folder, **settings):
        self.program, self.folder, self.settings = program, folder, settings
        self.start()

    def start(self):
        folder = pathlib.Path(self.folder)
        folder.mkdir(exist_ok=True)
        self.log = open(folder.parent / "log", "a", encoding="utf-8")
        self.process = subprocess.Popen(
            [self.program, "serve", "--port", "0", "--data-dir", str(folder)],
            env={**os.environ, "RUST_LOG": "info", **self.settings},
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        line = self.process.stdout.readline()
        assert "http://127.0.0.1:" in line, f"it does not serve: {line!r}"
        self.url = line.split()[-1]

    def kill(self):
        """`kill -9`."""
        self.process.kill()
        self.process.wait()
        self.log.close()

    def honcho(self, workspace):
        # A retry would hide a failure.
        return Honcho(base_url=self.url, workspace_id=workspace, max_retries=0)

    def call(self, method, path, body=None):
        """Calls what the SDK has no words for; gives status and answer."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        return status, json.loads(text) if text else None


def wait_until(what, check, seconds=30):
    """Asks until the answer is true; gives it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = check()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"{seconds} s went by without {what}")


def settle(honcho):
    """Waits until nothing is queued and nothing runs."""

    def idle():
        status = honcho.queue_status()
        return status.pending_work_units == 0 and status.in_progress_work_units == 0

    wait_until("an empty queue", idle)


def refused(error, call):
    """Expects a call to fail in one way."""
    try:
        call()
    except error as found:
        return str(found)
    raise AssertionError(f"it was not refused with {error.__name__}")


def given(configuration):
    """What a configuration says; the SDK answers with classes of its own."""
    return configuration.model_dump(exclude_none=True)


def texts(conclusions):
    return [conclusion.content for conclusion in conclusions]


def workspaces(server):
    honcho = server.honcho("workspaces")
    assert honcho.get_metadata() == {}
    honcho.set_metadata({"team": "a", "deep": {"list": [1, None, "ü"]}})
    assert honcho.get_metadata() == {"team": "a", "deep": {"list": [1, None, "ü"]}}
    assert given(honcho.get_configuration()) == {}
    wanted = WorkspaceConfiguration(
        custom_instructions="be kind",
        reasoning=ReasoningConfiguration(enabled=True),
        summary=SummaryConfiguration(messages_per_short_summary=10, messages_per_long_summary=40),
    )
    honcho.set_configuration(wanted)
    assert given(server.honcho("workspaces").get_configuration()) == given(wanted)
    # What is set replaces all that was; nothing at all clears it.
    honcho.set_configuration(WorkspaceConfiguration(dream=DreamConfiguration(enabled=False)))
    assert given(honcho.get_configuration()) == {"dream": {"enabled": False}}
    honcho.set_configuration(WorkspaceConfiguration())
    assert given(honcho.get_configuration()) == {}
    assert honcho.get_metadata()["team"] == "a"
    server.honcho("workspaces-too").get_metadata()
    names = list(honcho.workspaces())
    assert {"workspaces", "workspaces-too"} <= set(names), names
    message = refused(
        UnprocessableEntityError,
        lambda: honcho.set_configuration(
            WorkspaceConfiguration(summary=SummaryConfiguration(messages_per_short_summary=3))
        ),
    )
    assert "greater than or equal to 10" in message, message


def peers(server):
    honcho = server.honcho("peers")
    maya = honcho.peer("maya", metadata={"age": 31}, configuration=PeerConfig(observe_me=False))
    assert maya.metadata == {"age": 31} and maya.created_at.tzinfo is not None
    assert given(honcho.peer("maya").get_configuration()) == {"observe_me": False}
    maya.set_metadata({"age": 32})
    maya.set_configuration(PeerConfig())
    maya.refresh()
    assert maya.metadata == {"age": 32} and given(maya.configuration) == {}
    for number in range(60):
        honcho.peer(f"peer-{number}")
    page = honcho.peers()
    assert (page.total, page.pages, len(page.items)) == (61, 2, 50)
    assert [peer.id for peer in page] == ["maya"] + [f"peer-{number}" for number in range(60)]
    assert honcho.peers(reverse=True).items[0].id == "peer-59"
    # A card is kept as it is given, one per target.
    assert maya.get_card() is None
    assert maya.set_card(["Name: Maya", "likes tea"]) == ["Name: Maya", "likes tea"]
    assert maya.set_card(["is a peer"], target="peer-1") == ["is a peer"]
    assert (maya.get_card(), maya.get_card(target="peer-1")) == (["Name: Maya", "likes tea"], ["is a peer"])
    assert list(maya.sessions()) == []
    honcho.session("one", peers=[maya])
    honcho.session("two", peers=["peer-1"])
    assert [session.id for session in maya.sessions()] == ["one"]
    refused(NotFoundError, lambda: maya.chat("not yet"))


def sessions(server):
    honcho = server.honcho("sessions")
    maya, bob = honcho.peer("maya"), honcho.peer("bob")
    session = honcho.session(
        "s",
        metadata={"topic": "music"},
        configuration=SessionConfiguration(dream=DreamConfiguration(enabled=False)),
        peers=[maya, (bob, SessionPeerConfig(observe_others=True))],
    )
    assert session.is_active and session.metadata == {"topic": "music"}
    assert sorted(peer.id for peer in session.peers()) == ["bob", "maya"]
    assert session.get_peer_configuration(bob) == SessionPeerConfig(observe_others=True)
    session.set_peer_configuration(maya, SessionPeerConfig(observe_me=False, observe_others=False))
    assert session.get_peer_configuration(maya) == SessionPeerConfig(observe_me=False, observe_others=False)
    session.add_peers(["eve", ("dan", SessionPeerConfig(observe_me=True))])
    assert sorted(peer.id for peer in session.peers()) == ["bob", "dan", "eve", "maya"]
    session.remove_peers([maya, "eve"])
    assert sorted(peer.id for peer in session.peers()) == ["bob", "dan"]
    session.set_peers([maya])
    assert [peer.id for peer in session.peers()] == ["maya"]
    refused(NotFoundError, lambda: session.get_peer_configuration("nobody"))
    session.set_metadata({"topic": "sport"})
    # A session's settings are merged section by section.
    session.set_configuration(SessionConfiguration(reasoning=ReasoningConfiguration(enabled=False)))
    session.refresh()
    assert session.metadata == {"topic": "sport"}
    assert given(session.configuration) == {"dream": {"enabled": False}, "reasoning": {"enabled": False}}
    honcho.session("t")
    assert [found.id for found in honcho.sessions()] == ["s", "t"]
    too_many = [(f"observer-{number}", SessionPeerConfig(observe_others=True)) for number in range(11)]
    assert "Maximum allowed is 10" in refused(BadRequestError, lambda: honcho.session("u", peers=too_many))


def summaries(server):
    honcho = server.honcho("summaries")
    session = honcho.session("s")
    session.set_configuration(
        SessionConfiguration(
            summary=SummaryConfiguration(
                messages_per_short_summary=10, messages_per_long_summary=20, custom_instructions="Be brief."
            )
        )
    )
    none = session.summaries()
    assert none.id == "s" and none.short_summary is None and none.long_summary is None
    maya = honcho.peer("maya")
    sent = session.add_messages([maya.message(f"I have {number} cats.") for number in range(25)])
    settle(honcho)

    def made():
        found = session.summaries()
        return found if found.short_summary and found.long_summary else None

    found = wait_until("the summaries", made)
    for summary, kind in [(found.short_summary, "short"), (found.long_summary, "long")]:
        assert summary.summary_type == kind and summary.message_id == sent[19].id, summary
        assert "maya: I have 7 cats." in summary.content and summary.token_count > 0, summary
    whole = session.context(peer_target="maya")
    assert [message.content for message in whole.messages] == [message.content for message in sent]
    assert whole.summary and "maya has 7 cats." in whole.peer_representation, whole
    assert len(whole) > 0 and whole.to_openai(assistant="maya") and whole.to_anthropic(assistant="maya")
    bounded = session.context(summary=False, tokens=30)
    assert bounded.summary is None and bounded.peer_representation is None
    shown = [message.content for message in bounded.messages]
    assert 0 < len(shown) < 25 and shown == [message.content for message in sent[-len(shown) :]]
    inside = session.context(
        tokens=2000, peer_target="maya", peer_perspective="maya", limit_to_session=True, search_query="cats"
    )
    assert "cats" in inside.peer_representation and inside.peer_card is None
    too_long = WorkspaceConfiguration(custom_instructions="word " * 2001)
    refused(UnprocessableEntityError, lambda: honcho.set_configuration(too_long))
    uneven = SessionConfiguration(summary=SummaryConfiguration(messages_per_short_summary=70))
    assert "must be less" in refused(UnprocessableEntityError, lambda: session.set_configuration(uneven))


def messages(server):
    honcho = server.honcho("messages")
    maya, helper = honcho.peer("maya"), honcho.peer("helper")
    session = honcho.session("s")
    at = datetime.datetime(2023, 5, 8, 13, 56, 0, 250_000, tzinfo=datetime.timezone.utc)
    first = session.add_messages(
        [
            maya.message("I was born in Umeå. 🎻", metadata={"mood": "good"}, created_at=at),
            helper.message("Noted.", configuration={"reasoning": {"enabled": False}}),
        ]
    )
    assert [(message.content, message.peer_id) for message in first] == [
        ("I was born in Umeå. 🎻", "maya"),
        ("Noted.", "helper"),
    ]
    assert first[0].created_at == at and first[0].metadata == {"mood": "good"}
    assert first[0].session_id == "s" and first[0].workspace_id == "messages" and first[0].token_count > 0
    for batch in range(3):
        session.add_messages([maya.message(f"{batch}.{number}") for number in range(50)])
    page = session.messages(size=60)
    assert (page.total, page.pages, page.has_next_page()) == (152, 3, True)
    said = [message.content for message in page]
    assert said == ["I was born in Umeå. 🎻", "Noted."] + [f"{b}.{n}" for b in range(3) for n in range(50)]
    assert [message.content for message in session.messages(reverse=True, size=2).items] == ["2.49", "2.48"]
    assert session.get_message(first[0].id).content == "I was born in Umeå. 🎻"
    changed = session.update_message(first[0], {"mood": "better"})
    assert changed.metadata == {"mood": "better"} and changed.content == "I was born in Umeå. 🎻"
    assert session.get_message(first[0].id).metadata == {"mood": "better"}
    refused(NotFoundError, lambda: session.get_message("nothing"))
    refused(UnprocessableEntityError, lambda: session.add_messages([maya.message("x" * 25_001)]))
    assert session.messages().total == 152


def conclusions(server):
    honcho = server.honcho("conclusions")
    maya, bob = honcho.peer("maya"), honcho.peer("bob")
    honcho.session("s", peers=[maya, bob])
    made = maya.conclusions.create(
        [{"content": "maya plays the violin", "session_id": "s"}, {"content": "maya lives in Porto"}]
    )
    assert [(one.level, one.session_id, one.times_derived) for one in made] == [("explicit", "s", 1), ("explicit", None, 1)]
    about = bob.conclusions_of("maya")
    about.create([{"content": "maya is kind"}])
    assert texts(maya.conclusions.list(reverse=True)) == ["maya plays the violin", "maya lives in Porto"]
    assert texts(maya.conclusions.list(session="s")) == ["maya plays the violin"]
    assert texts(about.list(filters={"level": "explicit"})) == ["maya is kind"]
    assert texts(honcho.conclusions.list(size=1)) == ["maya is kind", "maya lives in Porto", "maya plays the violin"]
    assert texts(maya.conclusions.query("playing violin", top_k=1)) == ["maya plays the violin"]
    assert about.query("kind", distance=0.0) == []
    assert maya.conclusions.get(made[0].id).content == "maya plays the violin"
    refused(NotFoundError, lambda: about.get(made[0].id))
    many = honcho.conclusions.get_many([made[1].id, made[0].id, "nothing"])
    assert sorted(texts(many)) == ["maya lives in Porto", "maya plays the violin"]
    assert about.get_many([made[0].id]) == []
    assert "maya lives in Porto" in maya.conclusions.representation()
    maya.conclusions.delete(made[1].id)
    refused(NotFoundError, lambda: honcho.conclusions.get(made[1].id))
    refused(NotFoundError, lambda: maya.conclusions.delete(made[1].id))
    assert texts(maya.conclusions.list()) == ["maya plays the violin"]
    refused(NotFoundError, lambda: maya.conclusions_of("nobody").create([{"content": "x"}]))


def dreams(server):
    honcho = server.honcho("dreams")
    path = "/v3/workspaces/dreams"
    maya = honcho.peer("maya")
    watcher = ("watcher", SessionPeerConfig(observe_others=True))
    first = honcho.session("first", peers=[maya, watcher])
    first.add_messages([maya.message(fact) for fact in FACTS])
    second = honcho.session("second", peers=[maya])
    second.add_messages([maya.message(fact) for fact in NEWS])
    settle(honcho)
    status = honcho.queue_status(sender=maya)
    assert (status.total_work_units, status.sessions) == (0, None)
    assert first.queue_status(observer="watcher").pending_work_units == 0
    before = sorted(texts(maya.conclusions.list(size=100)))
    assert len(before) == 8 and "maya works at Intel as an engineer." in before, before
    assert len(texts(honcho.peer("watcher").conclusions_of("maya").list())) == 5
    # Why there is none: an hour of quiet is missing.
    code, why = server.call("GET", f"{path}/dreams/status?observer=maya")
    assert (code, why["verdict"], why["new_conclusions"]) == (200, "waiting_for_idle", 8), why
    assert server.call("GET", f"{path}/dreams")[1]["total"] == 0

    # What it would change, without changing it.
    code, run = server.call("POST", f"{path}/schedule_dream", {"observer": "maya", "dry_run": True})
    assert code == 202
    settle(honcho)
    dry = server.call("GET", f"{path}/dreams/{run['id']}")[1]
    assert (dry["status"], dry["dry_run"], dry["created_count"] > 0) == ("completed", True, True), dry
    assert sorted(texts(maya.conclusions.list(size=100))) == before
    assert server.call("POST", f"{path}/dreams/{run['id']}/undo")[0] == 409

    honcho.schedule_dream(maya, session=first, observed=maya)
    honcho.schedule_dream("maya")
    settle(honcho)
    code, runs = server.call("GET", f"{path}/dreams?observer=maya&observed=maya")
    omni = next(found for found in runs["items"] if found["dream_type"] == "omni")
    assert (omni["status"], omni["trigger"]) == ("completed", "manual"), omni
    oldest = [found for found in runs["items"] if found["dream_type"] == "omni"][-1]
    detail = server.call("GET", f"{path}/dreams/{oldest['id']}")[1]
    created = {one["conclusion"]["content"]: one for one in detail["created"]}
    moved = created["maya now works at Qualcomm (formerly Intel)."]
    assert {source["content"] for source in moved["sources"]} == {
        "maya works at Qualcomm now.",
        "maya works at Intel as an engineer.",
    }
    removed = {(one["content"], one["reason"]): one["replaced_by"] for one in detail["removed"]}
    assert removed[("maya works at Intel as an engineer.", "superseded")] == moved["conclusion"]["id"], removed
    assert ("maya plays the cello.", "duplicate") in removed
    assert detail["peer_card"]["before"] is None and "IDENTITY: Works at Qualcomm" in detail["peer_card"]["after"]
    assert "IDENTITY: Lives in San Diego" in maya.get_card()
    representation = maya.representation()
    assert "now works at Qualcomm (formerly Intel)" in representation and "works at Intel as" not in representation
    context = maya.context(search_query="cello", max_conclusions=5)
    assert context.peer_card == maya.get_card() and "cello" in context.representation
    assert (context.peer_id, context.target_id) == ("maya", "maya")
    assert "works at Qualcomm" in second.representation(maya) and "formerly" not in second.representation(maya)
    assert "Portland" in honcho.peer("watcher").representation(target=maya)
    source = moved["sources"][0]["id"]
    assert "maya now works at Qualcomm (formerly Intel)." in texts(maya.conclusions.derived(source))

    # Undone, it is as it was.
    code, undo = server.call("POST", f"{path}/dreams/{oldest['id']}/undo")
    assert code == 202
    settle(honcho)
    assert server.call("GET", f"{path}/dreams/{undo['id']}")[1]["undo_of"] == oldest["id"]
    assert sorted(texts(maya.conclusions.list(size=100))) == before
    assert maya.get_card() is None
    assert server.call("POST", f"{path}/dreams/list", {"observer": "maya"})[1]["items"][0]["dream_type"] == "undo"

    # One that waits can be cancelled, one that has ended cannot.
    def cancelled():
        body = {"observer": "maya", "dream_type": "card_refresh"}
        assert server.call("POST", f"{path}/schedule_dream", body)[0] == 204
        newest = server.call("GET", f"{path}/dreams?size=1")[1]["items"][0]
        code, answer = server.call("POST", f"{path}/dreams/{newest['id']}/cancel")
        assert code in (200, 409), answer
        return code == 200 and answer["status"] == "cancelled"

    wait_until("a dream that could be cancelled", cancelled)
    assert server.call("POST", f"{path}/dreams/{oldest['id']}/cancel")[0] == 409
    assert server.call("GET", f"{path}/dreams/nothing")[0] == 404

    refused(NotFoundError, lambda: honcho.schedule_dream("nobody"))
    honcho.set_configuration(WorkspaceConfiguration(dream=DreamConfiguration(enabled=False)))
    assert "disabled by the workspace" in refused(BadRequestError, lambda: honcho.schedule_dream(maya))


def asynchronously(server):
    async def main():
        honcho = server.honcho("async").aio
        maya = await honcho.peer("maya", metadata={"a": 1})
        session = await honcho.session("s", peers=["maya"])
        await session.aio.add_messages([maya.message(fact) for fact in FACTS + NEWS])
        said = [message.content async for message in await session.aio.messages(size=3)]
        assert said == FACTS + NEWS
        changed = await session.aio.update_message((await session.aio.messages()).items[0], {"x": 1})
        assert (await session.aio.get_message(changed.id)).metadata == {"x": 1}
        await idle(honcho)
        await honcho.schedule_dream(maya)
        await idle(honcho)
        found = [one.content async for one in await maya.conclusions.aio.list(size=2)]
        assert "maya now works at Qualcomm (formerly Intel)." in found, found
        assert "Qualcomm" in await maya.aio.representation()
        assert "IDENTITY: Works at Qualcomm" in await maya.aio.get_card()
        assert (await maya.aio.context()).peer_card
        made = await maya.conclusions.aio.create([{"content": "maya likes tea"}])
        assert (await maya.conclusions.aio.query("likes tea", top_k=1))[0].id == made[0].id
        await maya.conclusions.aio.delete(made[0].id)
        assert [one.id async for one in await honcho.peers()] == ["maya"]
        assert await maya.aio.get_metadata() == {"a": 1}
        await honcho.set_configuration(WorkspaceConfiguration(dream=DreamConfiguration(enabled=True)))
        assert (await honcho.get_configuration()).dream.enabled

    async def idle(honcho):
        end = time.monotonic() + 30
        while (await honcho.queue_status()).total_work_units > 0:
            assert time.monotonic() < end, "the queue does not empty"
            await asyncio.sleep(0.05)

    asyncio.run(main())


def killed(program, folder):
    """Nothing that was accepted is lost, ingest catches up, and a timer fires that was set before."""
    server = Server(program, folder, DREAM_DOCUMENT_THRESHOLD="5", DREAM_IDLE_TIMEOUT_MINUTES="0.15")
    try:
        honcho = server.honcho("killed")
        ana = honcho.peer("ana")
        honcho.session("quiet").add_messages([ana.message(fact) for fact in FACTS + NEWS])
        settle(honcho)
        why = server.call("GET", "/v3/workspaces/killed/dreams/status?observer=ana")[1]
        assert why["verdict"] == "waiting_for_idle", why
        ben = honcho.peer("ben")
        said = [f"I like number {number}." for number in range(300)]
        for start in range(0, 300, 100):
            honcho.session("busy").add_messages([ben.message(text) for text in said[start : start + 100]])
        server.kill()
        server.start()
        honcho = server.honcho("killed")
        assert [message.content for message in honcho.session("busy").messages(size=100)] == said
        settle(honcho)
        derived = texts(honcho.peer("ben").conclusions.list(size=100, filters={"level": "explicit"}))
        missing = {f"ben likes number {number}." for number in range(300)} - set(derived)
        assert not missing and len(derived) == 300, (sorted(missing)[:5], len(derived))

        def dreamed():
            runs = server.call("GET", "/v3/workspaces/killed/dreams?observer=ana")[1]["items"]
            return [run for run in runs if run["status"] == "completed"]

        runs = wait_until("the dream of a timer that was set before", dreamed)
        assert [run["trigger"] for run in runs] == ["idle"], runs
        assert "now works at Qualcomm" in honcho.peer("ana").representation()
    finally:
        server.kill()


def main(program):
    def late(*_):
        raise TimeoutError(f"{DEADLINE_SECONDS} s went by")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(DEADLINE_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        try:
            server = Server(program, folder / "surface", DREAM_DOCUMENT_THRESHOLD="5")
            try:
                for check in [workspaces, peers, sessions, summaries, messages, conclusions, dreams, asynchronously]:
                    started = time.monotonic()
                    check(server)
                    print(f"{check.__name__}: {time.monotonic() - started:.1f} s", flush=True)
            finally:
                server.kill()
            started = time.monotonic()
            killed(program, folder / "killed")
            print(f"killed: {time.monotonic() - started:.1f} s", flush=True)
        except BaseException:
            # What the server had to say comes first: the cause is mostly there.
            print((folder / "log").read_text(encoding="utf-8")[-20_000:], file=sys.stderr)
            raise


if __name__ == "__main__":
    main(sys.argv[1])
