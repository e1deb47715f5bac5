// The store: its kind, its usage, and the circuit breaker of each server.

const BREAKER = {
  closed: ['available', 'good'],
  'half-open': ['breaker half-open', 'warn'],
  open: ['breaker open', 'bad'],
  'refuses writes': ['refuses writes', 'bad'],
};

function renderStore({ store, policy, overrides, ready, viewers }) {
  const isAvailable = store.state === 'available';
  const more = [
    ['State', badge(store.state, isAvailable ? 'good' : 'bad')],
    ['Ready', ready ? badge('yes', 'good') : badge('no, shutting down', 'warn')],
    ['Last reload', policy.last_ok ? badge('succeeded', 'good') : badge('failed', 'bad')],
    ['Overrides', count(overrides.active)],
    ['Viewers', count(viewers)],
  ];
  const own = store.kind === 'memory' ? memory(store) : [['Failures', count(store.failures)]];
  const rendered = JSON.stringify([store, policy.last_ok, overrides.active, ready, viewers]);
  if (at('store').dataset.rendered === rendered) return;
  at('store').dataset.rendered = rendered;
  const list = make('dl', { class: 'facts' });
  facts(list, [['Kind', store.kind === 'memory' ? 'Memory' : 'Redis'], ...more.slice(0, 1), ...own, ...more.slice(1)]);
  const servers = (store.servers ?? []).map(({ server, state, refusal }) => {
    const [text, tone] = BREAKER[state] ?? [state, 'warn'];
    const item = make('li', {}, make('span', { class: 'key' }, server), ' ', badge(text, tone));
    if (refusal) item.append(' ', refusal);
    return item;
  });
  const warnings = (store.warnings ?? []).map((warning) => make('li', {}, warning));
  at('store').replaceChildren(list, ...(servers.length ? [make('h3', {}, 'Servers'), make('ul', { class: 'plain' }, ...servers)] : []),
    ...(warnings.length ? [make('ul', { class: 'warnings' }, ...warnings)] : []));
}

function memory({ keys, bytes, max_bytes: most, forgotten_keys: forgotten, refused_for_room: refused }) {
  const bar = meter('Memory');
  fillMeter(bar, bytes, most, `${size(bytes)} of ${size(most)}`);
  return [
    ['Keys', count(keys)],
    [`Memory of ${size(most)}`, [size(bytes), bar]],
    ['Keys evicted', count(forgotten)],
    ['Denied: memory full', count(refused)],
  ];
}
