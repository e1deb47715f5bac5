// What programs with ioredis use beside commands of their own: readiness, names, commands at once, closing.

const assert = require("assert");
const Redis = require("ioredis");

async function main() {
  const options = JSON.parse(process.argv[2]);
  const redis = new Redis({ ...options, connectionName: "gatekeeper" });
  const ready = new Promise((resolve) => redis.once("ready", resolve));
  assert.equal(await redis.ping(), "PONG");
  await ready;
  assert.equal(redis.status, "ready");
  assert.equal(await redis.echo("hello"), "hello");
  assert.equal(await redis.client("GETNAME"), "gatekeeper");
  assert.match(await redis.client("INFO"), /lib-name=ioredis/);
  assert.match(await redis.info(), /redis_mode:standalone/);
  assert.equal(await redis.command("COUNT"), (await redis.command()).length);
  assert.equal(await redis.select(0), "OK");
  await assert.rejects(redis.get("a"), { name: "ReplyError", message: /^ERR unknown command/ });

  // Without waiting for each other, on one connection.
  const ask = (client, key) => client.call("SG.LIMIT", key, 20, 3600000);
  const at_once = await Promise.all(Array.from({ length: 50 }, () => ask(redis, "crowd")));
  assert.deepEqual(at_once.map(([, , remaining]) => remaining), Array.from({ length: 50 }, (_, i) => Math.max(19 - i, 0)));

  // In pipelines that it makes by itself.
  const pipelining = new Redis({ ...options, enableAutoPipelining: true });
  const together = await Promise.all(Array.from({ length: 50 }, () => ask(pipelining, "together")));
  assert.equal(together.filter(([allowed]) => allowed === 1).length, 20);

  assert.equal(await redis.quit(), "OK");
  await pipelining.quit();
  console.log("all of it holds");
}

main();
