// The event stream, read with fetch, because an EventSource cannot send a token.

/** Time without a frame after which the connection counts as dead. */
const SILENCE_MS = 8_000;
const RETRY_MS = [500, 1_000, 2_000, 4_000, 8_000];

class Stream {
  /** `on.event(name, data)`, `on.state(state, why)`: `live`, `lost`, `refused`. */
  constructor(on) {
    this.on = on;
    this.failures = 0;
    document.addEventListener('visibilitychange', () => (document.hidden ? this.stop() : this.start()));
  }

  /** Connects now. A hidden page does not connect; the server has the history of its charts. */
  start() {
    this.stop();
    if (document.hidden) return;
    this.abort = new AbortController();
    this.run(this.abort);
  }

  stop() {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.abort = null;
  }

  async run(abort) {
    try {
      const reply = await fetch('v1/events', { headers: withToken({ accept: 'text/event-stream' }), signal: abort.signal, cache: 'no-store' });
      if (!reply.ok) throw await apiError(reply);
      await this.read(reply.body.pipeThrough(new TextDecoderStream()).getReader(), abort);
      throw new Error('it ended');
    } catch (error) {
      if (this.abort === abort) this.again(error);
    }
  }

  async read(reader, abort) {
    let text = '';
    for (;;) {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => reader.cancel(), SILENCE_MS);
      const { value, done } = await reader.read();
      if (done || abort.signal.aborted) return;
      const events = (text + value).split(/\r?\n\r?\n/);
      text = events.pop();
      events.forEach((event) => this.take(event));
    }
  }

  take(event) {
    const fields = event.split(/\r?\n/).map((line) => line.match(/^(\w+): ?(.*)$/)).filter(Boolean);
    const data = fields.filter(([, name]) => name === 'data').map(([, , value]) => value).join('\n');
    if (!data) return;
    this.failures = 0;
    this.on.state('live');
    try {
      this.on.event(fields.find(([, name]) => name === 'event')?.[2] ?? 'message', JSON.parse(data));
    } catch (error) {
      // An error of the page is no reason to reconnect.
      reportError(error);
    }
  }

  again(error) {
    clearTimeout(this.timer);
    if (error.status === 401) return needToken();
    const wait = RETRY_MS[Math.min(this.failures, RETRY_MS.length - 1)];
    this.failures += 1;
    if (error instanceof ApiError) this.on.state('refused', error.message);
    else this.on.state('lost');
    // With jitter, so that not all pages reconnect at once.
    this.timer = setTimeout(() => this.start(), wait * (1 + Math.random() / 2));
  }
}
