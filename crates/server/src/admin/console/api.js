// Requests to the admin API, with the token.

const TOKEN = 'slidegate-token';

/** Error response of the server. */
class ApiError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

function withToken(headers) {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { ...headers, authorization: `Bearer ${token}` } : headers;
}

/** Error of a response without success. */
async function apiError(reply) {
  const text = await reply.text();
  let detail = '';
  try {
    ({ detail } = JSON.parse(text));
  } catch {
    // A proxy responded, not the server.
  }
  return new ApiError(reply.status, detail || `the server responded with ${reply.status} ${reply.statusText}`);
}

async function api(path, { method = 'GET', body } = {}) {
  const headers = withToken(body ? { 'content-type': 'application/json' } : {});
  let reply;
  try {
    reply = await fetch(path, { method, headers, body: body && JSON.stringify(body), cache: 'no-store' });
  } catch {
    throw new ApiError(0, 'Cannot reach the server.');
  }
  if (reply.ok) return reply.json();
  const why = await apiError(reply);
  if (why.status === 401) needToken();
  throw why;
}
