"""What programs with redis-py use beside commands of their own: names, numbers and tables that it makes of replies, pools, asyncio."""

import asyncio
import json
import sys
import threading

import redis
import redis.asyncio

LIMIT = ("SG.LIMIT", "crowd", 100, 3_600_000)


def talk(client):
    assert client.ping() is True
    assert client.echo("hello") == "hello"
    assert client.client_setname("gatekeeper") is True
    assert client.client_getname() == "gatekeeper"
    assert client.client_id() > 0
    info = client.client_info()
    assert info["name"] == "gatekeeper" and info["lib-name"].startswith("redis-py"), info
    info = client.info()
    assert info["redis_mode"] == "standalone" and info["role"] == "master" and info["loading"] == 0, info
    assert client.info("server").keys() <= info.keys()
    assert client.command_count() == len(client.command()) > 10
    assert client.command()["sg.check"]["arity"] == -4
    assert client.select(0)
    for wrong in (lambda: client.get("a"), lambda: client.select(1), lambda: client.execute_command("SG.CHECK")):
        try:
            wrong()
        except redis.ResponseError:
            continue
        raise AssertionError("that is an error")


def crowd(options):
    """Threads that share a pool never get another's reply, and together no more than there is."""
    client = redis.Redis(**options, max_connections=8, health_check_interval=1)
    allowed = []

    def ask():
        for _ in range(50):
            allowed.append(client.execute_command(*LIMIT)[0])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(allowed), sum(allowed)) == (400, 100), (len(allowed), sum(allowed))


async def at_once(options):
    client = redis.asyncio.Redis(**options)
    replies = await asyncio.gather(*(client.execute_command("SG.LIMIT", "tasks", 20, 3_600_000) for _ in range(50)))
    assert sum(reply[0] for reply in replies) == 20, replies
    async with client.pipeline(transaction=False) as pipeline:
        for _ in range(5):
            pipeline.execute_command("SG.LIMIT", "pipeline", 3, 3_600_000)
        assert [reply[2] for reply in await pipeline.execute()] == [2, 1, 0, 0, 0]
    await client.aclose()


options = json.loads(sys.argv[1]) | {"decode_responses": True}
with redis.Redis(**options) as client:
    talk(client)
crowd(options)
asyncio.run(at_once(options))
print("all of it holds")
