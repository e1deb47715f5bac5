// The view Live: tiles, charts, and counts since startup.

const OUTCOMES = [
  // Denials are at the bottom of the stack, so that their shape is visible.
  { name: 'denied', label: 'Denied' },
  { name: 'barred', label: 'Blocked' },
  { name: 'failed', label: 'Store failed' },
  { name: 'allowed', label: 'Allowed' },
  { name: 'unlimited', label: 'No rule applied' },
];
const PERCENTILES = [
  { name: 'p50', label: '50 %' },
  { name: 'p90', label: '90 %' },
  { name: 'p99', label: '99 %' },
  { name: 'p999', label: '99.9 %' },
];
const SINCE = [
  ['Allowed', 'allowed'], ['Denied', 'denied'], ['Blocked', 'barred'], ['No rule applied', 'unlimited'],
  ['Would have denied', 'would_deny'], ['Near misses', 'near_misses'], ['Peeked', 'looked'],
  ['Replayed', 'replayed'], ['Store failed', 'failed'],
];

const TILES = [
  ['Decisions'], ['Allowed', 'allowed'], ['Denied', 'denied'], ['Would have denied'], ['Near misses'], ['Latency, 99 %', 'p99'],
];

class Live {
  constructor(history) {
    this.history = history;
    this.decisions = new Chart(at('chart-decisions'), { label: 'Decisions per second', series: OUTCOMES, format: rate, isStacked: true });
    this.latency = new Chart(at('chart-latency'), { label: 'Decision latency', series: PERCENTILES, format: micros, isStacked: false });
    this.tiles = TILES.map(([name, colour]) => {
      const tile = make('div', { class: 'tile' }, make('dt', {}, ...(colour ? [swatch(colour)] : []), name), make('dd', { class: 'value' }), make('dd', { class: 'more' }));
      at('tiles').append(tile);
      return tile;
    });
  }

  render(frame) {
    const { totals } = frame;
    show(at('quiet'), !totals || this.isQuiet(totals));
    write(at('quiet'), totals
      ? 'Waiting for the first request. slidegate serve --demo simulates traffic.'
      : 'Telemetry is off: observe.enabled is false in the policy file.');
    const age = span(frame.uptime_ms);
    write(at('about'), `${location.host} · up ${age} · ${plural(frame.policy.rules, 'rule')} · rates over ${RATE_SECONDS} s`);
    if (totals) {
      this.renderTiles(frame);
      numbers(at('since'), SINCE.map(([label, name]) => [label, count(totals[name])]));
    }
    this.decisions.update(this.history.points);
    this.latency.update(this.history.points);
    renderStore(frame);
  }

  isQuiet(totals) {
    return Object.values(totals).every((value) => value === 0);
  }

  renderTiles({ totals, latency_us: latency }) {
    const per = (...names) => this.history.rate((frame) => names.reduce((sum, name) => sum + frame.totals[name], 0));
    const all = per(...OUTCOMES.map(({ name }) => name));
    const [denied, wouldDeny, failed] = [per('denied', 'barred'), per('would_deny'), per('failed')];
    const ofAll = (part) => (all > 0 ? `${share(part, all)} of all` : 'of all');
    const texts = [
      [rate(all), '/s', failed > 0 ? `${rate(failed)} /s failed` : `${count(sum(totals))} in total`, failed > 0 ? 'bad' : null],
      [rate(per('allowed')), '/s', ofAll(per('allowed')), null],
      [rate(denied), '/s', ofAll(denied), null],
      [rate(wouldDeny), '/s', 'observe mode', null],
      [rate(per('near_misses')), '/s', 'allowed with little left', null],
      [micros(latency?.p99), '', latency ? `median ${micros(latency.p50)}` : 'no samples', null],
    ];
    texts.forEach(([value, unit, more, tone], index) => {
      const tile = this.tiles[index];
      const [, big, small] = tile.children;
      if (!big.lastElementChild) big.append('', make('small', {}, unit));
      if (big.firstChild.data !== value) big.firstChild.data = value;
      write(small, more);
      set(tile, 'data-tone', tone);
    });
  }
}

function sum(totals) {
  return OUTCOMES.reduce((all, { name }) => all + totals[name], 0);
}

function plural(number, word) {
  return `${count(number)} ${word}${number === 1 ? '' : 's'}`;
}
