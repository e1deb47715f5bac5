// Chart of the last two minutes: stacked areas, or curves on a logarithmic scale. The pointer or the
// arrow keys choose a point in time; a table has the same numbers.

const CHART_SECONDS = 120;
const CHART_HEIGHT = 200;
const MARGIN = { left: 54, right: 4, top: 8, bottom: 20 };
const TABLE_STEP = 10;
/** Points further apart are not joined. */
const HOLE_MS = 3_500;

class Chart {
  /** `series`: name and label of each; `format`: text of a value; `isStacked`: areas. */
  constructor(figure, { label, series, format, isStacked }) {
    Object.assign(this, { label, series, format, isStacked, points: [], chosen: null });
    this.svg = draw('svg', { 'aria-hidden': 'true' });
    this.plot = make('div', {
      class: 'plot', tabindex: 0, role: 'slider', 'aria-label': `${label}: moment`, 'aria-valuemin': -CHART_SECONDS, 'aria-valuemax': 0,
    }, this.svg);
    this.when = make('p', { class: 'hint' });
    this.values = series.map(() => make('dd'));
    const legend = series.map(({ name, label: text }, index) => make('div', {}, make('dt', {}, swatch(name), text), this.values[index]));
    const head = ['Ending at', ...series.map(({ label: text }) => text)];
    this.rows = make('tbody');
    this.table = make('details', {}, make('summary', {}, 'Numbers'), make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${label}: numbers` },
      make('table', {}, make('thead', {}, make('tr', {}, ...head.map((text, index) => make('th', { scope: 'col', class: index ? 'number' : null }, text)))), this.rows)));
    figure.querySelector('.title').append(this.when);
    figure.append(this.plot, make('dl', { class: 'legend' }, ...legend), this.table);
    this.listen();
  }

  listen() {
    const { plot } = this;
    new ResizeObserver(() => this.paint()).observe(plot);
    this.table.addEventListener('toggle', () => this.fillTable());
    plot.addEventListener('pointermove', (event) => {
      const box = plot.getBoundingClientRect();
      const across = (event.clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right);
      this.choose(Math.round((across - 1) * CHART_SECONDS));
    });
    plot.addEventListener('pointerleave', () => this.choose(null));
    plot.addEventListener('blur', () => this.choose(null));
    plot.addEventListener('keydown', (event) => {
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -CHART_SECONDS, End: CHART_SECONDS };
      if (!(event.key in steps)) return;
      event.preventDefault();
      this.choose((this.chosen ?? 0) + steps[event.key]);
    });
  }

  /** `seconds` before the newest point, as a negative number. */
  choose(seconds) {
    this.chosen = seconds == null ? null : Math.max(-CHART_SECONDS, Math.min(0, seconds));
    this.paint();
  }

  /** Points have `at_ms` and a value, or null, for every series. */
  update(points) {
    const end = points.at(-1)?.at_ms ?? 0;
    this.points = points.filter(({ at_ms }) => end - at_ms <= CHART_SECONDS * 1_000);
    this.paint();
    this.fillTable();
  }

  get end() {
    return this.points.at(-1)?.at_ms ?? 0;
  }

  /** The chosen point, or the newest. */
  get point() {
    const wanted = this.end + (this.chosen ?? 0) * 1_000;
    return this.points.findLast(({ at_ms }) => Math.abs(at_ms - wanted) <= 500) ?? (this.chosen == null ? this.points.at(-1) : undefined);
  }

  paint() {
    const width = this.plot.clientWidth;
    if (!width) return;
    const x = (at_ms) => MARGIN.left + (width - MARGIN.left - MARGIN.right) * (1 - (this.end - at_ms) / (CHART_SECONDS * 1_000));
    const scale = this.isStacked ? linear(this.tops()) : logarithmic(this.tops());
    set(this.svg, 'viewBox', `0 0 ${width} ${CHART_HEIGHT}`);
    const parts = [...this.axes(x, scale, width), ...(this.isStacked ? this.areas(x, scale) : this.curves(x, scale))];
    if (this.chosen != null) {
      const where = Math.round(x(this.end + this.chosen * 1_000)) + 0.5;
      parts.push(draw('line', { class: 'cross', x1: where, x2: where, y1: MARGIN.top, y2: CHART_HEIGHT - MARGIN.bottom }));
    }
    this.svg.replaceChildren(...parts);
    this.readOut();
  }

  /** The largest value of every point. */
  tops() {
    const values = (point) => this.series.map(({ name }) => point[name] ?? 0);
    return this.points.map((point) => (this.isStacked ? values(point).reduce((sum, value) => sum + value, 0) : Math.max(...values(point))));
  }

  axes(x, scale, width) {
    const rules = scale.ticks.flatMap((tick) => {
      const y = Math.round(scale.y(tick)) + 0.5;
      return [draw('line', { class: 'grid-line', x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y }),
        draw('text', { x: MARGIN.left - 6, y: y + 4, 'text-anchor': 'end' }, scale.tell(tick))];
    });
    const marks = width < 420 ? [-120, -60, 0] : [-120, -90, -60, -30, 0];
    const times = marks.map((seconds) => draw('text', {
      x: x(this.end + seconds * 1_000), y: CHART_HEIGHT - 4, 'text-anchor': seconds === -120 ? 'start' : seconds ? 'middle' : 'end',
    }, seconds ? `${seconds} s` : 'now'));
    return [...rules, ...times];
  }

  /** Runs of points without gaps; gaps are not drawn. */
  runs() {
    const runs = [];
    this.points.forEach((point, index) => {
      if (index && point.at_ms - this.points[index - 1].at_ms < HOLE_MS) runs.at(-1).push(point);
      else runs.push([point]);
    });
    return runs;
  }

  areas(x, scale) {
    const spot = (point, value) => `${x(point.at_ms).toFixed(1)} ${scale.y(value).toFixed(1)}`;
    const upTo = (point, most) => this.series.slice(0, most).reduce((height, { name }) => height + (point[name] ?? 0), 0);
    return this.series.map(({ name }, index) => {
      const parts = this.runs().map((run) => {
        const above = run.map((point) => spot(point, upTo(point, index + 1)));
        const below = run.map((point) => spot(point, upTo(point, index))).reverse();
        return `M${above.join('L')}L${below.join('L')}Z`;
      });
      return draw('path', { class: `area ${name}`, d: parts.join('') });
    });
  }

  curves(x, scale) {
    return this.series.map(({ name }) => {
      const parts = this.runs().map((run) => run.filter((point) => point[name] != null)).filter((run) => run.length);
      const d = parts.map((run) => `M${run.map((point) => `${x(point.at_ms).toFixed(1)} ${scale.y(point[name]).toFixed(1)}`).join('L')}`);
      return draw('path', { class: `curve ${name}`, d: d.join('') });
    });
  }

  /** Writes the numbers of the chosen point to the legend. */
  readOut() {
    const { point } = this;
    const texts = this.series.map(({ name }) => (point ? this.format(point[name]) : NONE));
    texts.forEach((text, index) => write(this.values[index], text));
    const when = point ? clock(point.at_ms) : 'unknown';
    write(this.when, this.chosen == null ? 'Now' : `At ${when}`);
    set(this.plot, 'aria-valuenow', this.chosen ?? 0);
    if (this.chosen != null || !this.plot.hasAttribute('aria-valuetext')) {
      set(this.plot, 'aria-valuetext', `${when}: ${this.series.map(({ label }, index) => `${label} ${texts[index]}`).join(', ')}`);
    }
  }

  /** Fills the table, while it is open: averages over ten seconds. */
  fillTable() {
    if (!this.table.open) return;
    const steps = [];
    for (let end = this.points.length; end > 0; end -= TABLE_STEP) steps.push(this.points.slice(Math.max(0, end - TABLE_STEP), end));
    this.rows.replaceChildren(...steps.map((points) => make('tr', {}, make('td', {}, clock(points.at(-1).at_ms)), ...this.series.map(({ name }) => {
      const values = points.map((point) => point[name]).filter((value) => value != null);
      const mean = values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
      return make('td', { class: 'number' }, this.format(mean));
    }))));
  }
}

const inner = CHART_HEIGHT - MARGIN.top - MARGIN.bottom;

/** Scale from zero to the next round number above the maximum. */
function linear(tops) {
  const most = Math.max(4, ...tops);
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size * 4 >= most && Number.isInteger(size));
  const top = 4 * step;
  const y = (value) => MARGIN.top + inner * (1 - value / top);
  return { ticks: [0, 1, 2, 3, 4].map((tick) => tick * step), y, tell: (tick) => SHORT.format(tick) };
}

/** Scale of powers of ten, from a tenth of a microsecond. */
function logarithmic(tops) {
  const decades = Math.max(3, 1 + Math.ceil(Math.log10(Math.max(1, ...tops))));
  const y = (value) => MARGIN.top + inner * (1 - (1 + Math.log10(Math.max(0.1, value))) / decades);
  const tell = (us) => (us < 1 ? '100 ns' : us < 1e3 ? `${us} µs` : us < 1e6 ? `${us / 1e3} ms` : `${us / 1e6} s`);
  return { ticks: Array.from({ length: decades + 1 }, (_, power) => 10 ** (power - 1)), y, tell };
}
