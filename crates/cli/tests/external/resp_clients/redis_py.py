"""Sends commands with redis-py, one per line of JSON, and prints each reply as a line of JSON."""

import json
import sys

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


def reply(value):
    if isinstance(value, redis.RedisError):
        return {"error": str(value)}
    return {"value": value}


def ask(client, commands):
    try:
        if len(commands) == 1:
            return [reply(client.execute_command(*commands[0]))]
        pipeline = client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return [reply(value) for value in pipeline.execute(raise_on_error=False)]
    except redis.RedisError as error:
        return [reply(error)]


options = json.loads(sys.stdin.readline())
client = redis.Redis(
    host="127.0.0.1",
    port=options["port"],
    protocol=options["protocol"],
    username=options["user"],
    password=options["password"],
    decode_responses=True,
    # By itself it also tries a wrong password ten times more, and waits in between.
    retry=Retry(NoBackoff(), 3),
)
for line in sys.stdin:
    print(json.dumps(ask(client, json.loads(line))), flush=True)
