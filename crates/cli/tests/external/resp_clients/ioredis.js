// Says with ioredis what it is told to, a line of JSON at a time, and prints what came back, a line of JSON for each.

const Redis = require("ioredis");

const reply = (error, value) => (error ? { error: error.message } : { value });

async function ask(redis, commands) {
  if (commands.length === 1) {
    return [await redis.call(...commands[0]).then((value) => reply(null, value), (error) => reply(error))];
  }
  const pipeline = redis.pipeline();
  commands.forEach((command) => pipeline.call(...command));
  return (await pipeline.exec()).map(([error, value]) => reply(error, value));
}

// Who is not let in hears it as an event, not as an answer; and then ioredis tries again, for ever.
const refused = (redis) =>
  new Promise((refuse) => redis.on("error", (error) => error.name === "ReplyError" && refuse([reply(error)])));

async function main() {
  let redis;
  let refusal;
  for await (const line of require("readline").createInterface({ input: process.stdin })) {
    const input = JSON.parse(line);
    if (redis === undefined) {
      const { port, protocol, user, password } = input;
      redis = new Redis({ host: "127.0.0.1", port, protocol, username: user, password });
      refusal = refused(redis);
    } else {
      console.log(JSON.stringify(await Promise.race([ask(redis, input), refusal])));
    }
  }
  redis.disconnect();
}

main();
