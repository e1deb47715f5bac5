/** HTTP servers of tests, on a free port. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** Request that a server received. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Handler = (received: Received, response: ServerResponse) => void;

/** Starts a server that ends with its test. Its address, and everything that it received. */
export async function startServer(context: TestContext, handler: Handler) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { method = '', url: path = '', headers } = request;
    received.push({ method, path, headers, body });
    handler({ method, path, headers, body }, response);
  });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

/** Starts a server that refuses a number of requests, and then answers 200 with what it got. */
export function startRefusing(
  context: TestContext,
  refusals: number,
  { status = 429, headers = {} as Record<string, string> } = {},
) {
  let left = refusals;
  return startServer(context, ({ body }, response) => {
    left -= 1;
    if (left >= 0) response.writeHead(status, headers).end('refused');
    else response.writeHead(200, { 'content-type': 'text/plain' }).end(`got ${body}`);
  });
}
