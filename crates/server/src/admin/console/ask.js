// Requests to the server, with the token, and what went wrong in words.

const TOKEN = 'slidegate-token';

/** Why something was not done. */
class Refusal extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

function withToken(headers) {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { ...headers, authorization: `Bearer ${token}` } : headers;
}

/** What a reply that is no success says. */
async function refusal(reply) {
  const text = await reply.text();
  let detail = '';
  try {
    ({ detail } = JSON.parse(text));
  } catch {
    // Something on the way answered, not the server.
  }
  return new Refusal(reply.status, detail || `the server responded with ${reply.status} ${reply.statusText}`);
}

async function ask(path, { method = 'GET', body } = {}) {
  const headers = withToken(body ? { 'content-type': 'application/json' } : {});
  let reply;
  try {
    reply = await fetch(path, { method, headers, body: body && JSON.stringify(body), cache: 'no-store' });
  } catch {
    throw new Refusal(0, 'Cannot reach the server.');
  }
  if (reply.ok) return reply.json();
  const why = await refusal(reply);
  if (why.status === 401) needToken();
  throw why;
}
