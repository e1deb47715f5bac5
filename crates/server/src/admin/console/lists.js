// Top lists of subjects, and rules by route.

/** Entries of a collapsed list. */
const FEW = 10;
const expanded = new Set();

function renderTop(name, frame) {
  const { [name]: list, subjects } = frame;
  const table = at(name);
  const all = list?.entries ?? [];
  const entries = expanded.has(name) ? all : all.slice(0, FEW);
  const most = all[0]?.count ?? 0;
  rows(table, entries, {
    key: ({ rule, subject, cut }) => JSON.stringify([rule, subject, cut, subjects]),
    empty: name === 'denied' ? 'No recent denials.' : 'No recent near misses.',
    create: (entry) => make('tr', {},
      make('td', {}, subjectLink(entry, subjects)),
      cell('Rule', '', entry.rule),
      cell(name === 'denied' ? 'Denials' : 'Near misses', 'number share', '', draw('svg', { 'aria-hidden': 'true', viewBox: '0 0 100 3', preserveAspectRatio: 'none' }, draw('rect', { height: 3 })))),
    update: (row, entry) => {
      const number = row.cells[2];
      const text = entry.error > 0 ? `${count(entry.count - entry.error)} to ${count(entry.count)}` : count(entry.count);
      if (number.firstChild.data !== text) number.firstChild.data = text;
      const width = most ? (100 * entry.count) / most : 0;
      const bar = number.querySelector('rect');
      set(bar, 'width', width.toFixed(1));
      set(bar, 'x', (100 - width).toFixed(1));
    },
  });
  write(at(`${name}-note`), entries.length ? topNote(entries, list) : '');
  const more = at(`${name}-more`);
  show(more, all.length > FEW);
  write(more, expanded.has(name) ? `Show ${FEW}` : `Show ${all.length}`);
}

function listenToLists() {
  for (const name of ['denied', 'near']) {
    at(`${name}-more`).addEventListener('click', () => {
      if (!expanded.delete(name)) expanded.add(name);
      set(at(`${name}-more`), 'aria-expanded', String(expanded.has(name)));
      renderTop(name, lastFrame);
    });
  }
}

function topNote(entries, { since_ms: since, bound, total }) {
  const listed = entries.reduce((all, entry) => all + entry.count, 0);
  const all = total > 0 ? `; these are ${share(Math.min(listed, total), total)} of ${count(total)}` : '';
  const error = bound > 0 ? ` Counts are at most ${count(bound)} too high.` : '';
  return `Since ${clock(since)}${all}.${error}`;
}

/** Link to a subject; only text if its values are hashed or cut, or if its limit is ad hoc. */
function subjectLink({ rule, subject, cut }, subjects) {
  const isFound = subjects !== 'hashed' && !cut && !rule.startsWith('(');
  return make(isFound ? 'a' : 'span', { class: 'key', href: isFound ? lookAddress(rule, subject) : null }, ...subjectText(subject));
}

/** Elements for the name and value of every part of a key. */
function subjectText(subject) {
  const parts = Object.entries(subject).map(([name, value]) => make('span', { class: `part${(value ?? '').length > 24 ? ' long' : ''}` },
    ...(value == null ? [`no ${name}`] : [make('span', {}, `${name}=`), value])));
  return parts.length ? parts : ['all requests together'];
}

function renderLines(frame, history) {
  const lines = frame.lines ?? [];
  const keyless = new Map((frame.without_key ?? []).map((one) => [one.rule, one]));
  rows(at('lines'), lines, {
    key: lineKey,
    empty: 'No decisions yet.',
    create: (line) => make('tr', {},
      make('td', {}, line.rule.startsWith('(') ? line.rule : make('a', { href: `#rules?rule=${encodeURIComponent(line.rule)}` }, line.rule)),
      cell('Route', '', make('span', { class: 'key' }, line.route || 'any')),
      cell('Limit', '', line.limit.startsWith(`${line.rule}-`) ? line.limit.slice(line.rule.length + 1) : line.limit),
      ...['Allowed /s', 'Denied /s', 'Denied', 'Would have denied', 'Near misses', 'Without key'].map((label) => cell(label, 'number', ''))),
    update: (row, line) => {
      const key = lineKey(line);
      const per = (name) => history.rate(({ lines }) => both(lines.get(key), name));
      const values = [per('allowed'), history.rate(({ lines }) => lines.get(key)?.enforced.denied), line.enforced.denied, line.observed.denied, both(line, 'near_misses')];
      values.forEach((value, index) => {
        const number = row.cells[index + 3];
        write(number, index < 2 ? rate(value) : count(value));
        set(number, 'class', value ? 'number' : 'number zero');
      });
      const lacking = keyless.get(line.rule);
      write(row.cells[8], lacking ? `${count(lacking.requests)} without ${lacking.key}` : count(0));
      set(row.cells[8], 'class', lacking ? 'number lacking' : 'number zero');
      set(row.cells[8], 'title', lacking ? `Requests of this rule without ${lacking.key}: they share one bucket` : null);
    },
  });
  const more = frame.lines_left_out > 0 ? ` ${plural(frame.lines_left_out, 'more row')} in /metrics.` : '';
  write(at('lines-note'), lines.length ? `Sorted by denials in the last 10 s; counts since startup.${more}` : '');
}

function both(line, name) {
  return line && line.enforced[name] + line.observed[name];
}
