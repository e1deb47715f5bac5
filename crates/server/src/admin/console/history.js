// History of two minutes: rates per second from counts since startup.

/** Seconds that rates in tiles and tables cover; over one second they would flicker. */
const RATE_SECONDS = 5;

class History {
  constructor() {
    this.clear();
  }

  clear() {
    /** One point per second, for charts. */
    this.points = [];
    /** The last few frames, for rates. */
    this.frames = [];
    this.last = null;
  }

  /** Starts with the history of the server. */
  begin(past) {
    this.clear();
    past.forEach((sample) => this.add(sample));
  }

  add(sample) {
    const { last } = this;
    this.last = sample;
    if (!sample.totals) return;
    const seconds = last?.totals ? (sample.at_ms - last.at_ms) / 1_000 : 0;
    if (seconds > 0) {
      const per = (name) => Math.max(0, sample.totals[name] - last.totals[name]) / seconds;
      const outcomes = Object.fromEntries(Object.keys(sample.totals).map((name) => [name, per(name)]));
      this.points.push({ at_ms: sample.at_ms, ...outcomes, ...(sample.latency_us ?? {}) });
      this.points.splice(0, this.points.length - CHART_SECONDS);
    }
    this.frames.push({ at_ms: sample.at_ms, totals: sample.totals, lines: new Map((sample.lines ?? []).map((line) => [lineKey(line), line])) });
    this.frames.splice(0, this.frames.length - RATE_SECONDS - 1);
  }

  /** Growth of a number per second; `of` reads it from a frame, and may return nothing. */
  rate(of) {
    const values = this.frames.map((frame) => [frame.at_ms, of(frame)]).filter(([, value]) => value != null);
    if (values.length < 2) return null;
    const [[begin, before], [end, now]] = [values[0], values.at(-1)];
    return end > begin ? Math.max(0, now - before) / ((end - begin) / 1_000) : null;
  }
}

function lineKey({ rule, limit, route }) {
  return JSON.stringify([rule, limit, route]);
}
