// The view Rules: the rules in force with their counts, and the changes of the last reload.

const rulesByName = new Map();
let policy = null;
let policyRead = '';

/** Loads the policy again if a frame has another digest or other overrides. */
async function followPolicy(frame) {
  const wanted = JSON.stringify([frame.policy.digest, frame.policy.loaded_at_ms, frame.overrides]);
  if (policyRead === wanted) return;
  policyRead = wanted;
  let answer;
  try {
    answer = await api('v1/policy');
  } catch (error) {
    policyRead = '';
    return;
  }
  // A newer policy is being loaded.
  if (policyRead !== wanted) return;
  policy = answer;
  delete at('policy').dataset.rendered;
  renderPolicyState(lastFrame);
  renderRules();
  fillRuleChoices();
  if (currentView === 'overrides') readOverrides();
}

function renderPolicyState(frame) {
  if (!policy) return;
  const { last_ok: isOk, last_error: error, loaded_at_ms: loaded } = frame.policy;
  const rendered = JSON.stringify([policyRead, isOk, error]);
  if (at('policy').dataset.rendered === rendered) return;
  at('policy').dataset.rendered = rendered;
  facts(at('policy'), [
    ['File', policy.file ? make('span', { class: 'key' }, policy.file) : 'not from a file'],
    ['SHA-256', policy.digest && make('span', { class: 'key' }, policy.digest)],
    ['In force since', moment(loaded)],
    ['Last reload', isOk ? badge('in force', 'good') : [badge('failed', 'bad'), ' ', make('span', { class: 'problem' }, error ?? '')]],
  ]);
  at('reload').disabled = !policy.file;
  const later = (policy.at_next_start ?? []).map((name) => `${name}: takes effect after a restart`);
  const changes = [...(policy.changed ?? []), ...later];
  at('changed').replaceChildren(changes.length
    ? make('ul', { class: 'plain' }, ...changes.map((line) => make('li', {}, line)))
    : make('p', { class: 'hint' }, policy.changed ? 'No changes.' : 'None since startup.'));
}

function renderRules() {
  rulesByName.clear();
  policy.rules.forEach((rule) => rulesByName.set(rule.name, ruleCard(rule)));
  replace(at('rules'), ...rulesByName.values());
  filterRules();
  if (lastFrame) renderCounts(lastFrame);
}

function ruleCard(rule) {
  const isObserved = !rule.mode.startsWith('enforced');
  const isPartly = rule.mode.includes('observed') && !isObserved;
  const list = make('dl', { class: 'facts wide-facts' });
  facts(list, [
    ['Matches', rule.matches],
    ['Key', rule.key + (rule.missing ? `; ${rule.missing}` : '')],
    ['Mode', rule.mode === 'enforced' ? '' : rule.mode],
    ['Not limited', rule.allow.join('; ')],
    ['Blocked', rule.deny.join('; ')],
    ['On store error', rule.on_store_error],
  ]);
  const card = make('article', { class: 'card rule', 'data-rule': rule.name, tabindex: -1 },
    make('div', { class: 'title' }, make('h2', {}, rule.name), badge(isObserved ? 'observed' : isPartly ? 'partly enforced' : 'enforced', isObserved || isPartly ? 'warn' : 'good')),
    list, ruleTable(rule));
  if (rule.warnings.length) card.append(make('ul', { class: 'warnings' }, ...rule.warnings.map((warning) => make('li', {}, warning))));
  return card;
}

const COUNTED = ['Allowed', 'Denied', 'Would have denied', 'Near misses'];

function ruleTable(rule) {
  const head = ['Limit', 'For', 'Algorithm', 'Maximum in any window'].map((text, index) => make('th', { scope: 'col', class: index === 3 ? 'number' : null }, text));
  const counted = COUNTED.map((text) => make('th', { scope: 'col', class: 'number' }, text));
  const body = rule.terms.flatMap(({ applies_to: applies, limits }) => limits.map((limit) => make('tr', { 'data-limit': limit.name },
    make('td', {}, limit.limit), cell('For', '', applies), cell('Algorithm', '', limit.algorithm.replace('_', ' ')), cell('Maximum in any window', 'number', count(limit.worst_case)),
    ...COUNTED.map((label) => cell(label, 'number zero', NONE)))));
  return make('table', { class: 'rows' }, make('thead', {}, make('tr', {}, ...head, ...counted)), make('tbody', {}, ...body));
}

/** Fills in the counts of each limit, over all routes. */
function renderCounts(frame) {
  const sums = new Map();
  for (const { rule, limit, enforced, observed } of frame.lines ?? []) {
    const key = JSON.stringify([rule, limit]);
    const counts = sums.get(key) ?? [0, 0, 0, 0];
    sums.set(key, [counts[0] + enforced.allowed + observed.allowed, counts[1] + enforced.denied, counts[2] + observed.denied,
      counts[3] + enforced.near_misses + observed.near_misses]);
  }
  for (const [name, card] of rulesByName) {
    card.querySelectorAll('tr[data-limit]').forEach((row) => {
      const values = sums.get(JSON.stringify([name, row.dataset.limit]));
      COUNTED.forEach((_, index) => {
        const number = row.cells[index + 4];
        write(number, values ? count(values[index]) : frame.lines_left_out > 0 ? NONE : '0');
        set(number, 'class', values?.[index] ? 'number' : 'number zero');
      });
    });
  }
  write(at('rules-note'), frame.lines_left_out > 0 ? 'Only the limits with the most denials have counts here; /metrics has all.' : '');
}

function filterRules() {
  const wanted = at('rules-filter').value.trim().toLowerCase();
  for (const card of rulesByName.values()) show(card, card.textContent.toLowerCase().includes(wanted));
}

/** Scrolls to a rule. */
function goToRule(name) {
  at('rules-filter').value = '';
  filterRules();
  const card = rulesByName.get(name);
  card?.scrollIntoView({ block: 'start' });
  card?.focus({ preventScroll: true });
}

function listenToPolicy() {
  at('rules-filter').addEventListener('input', filterRules);
  at('reload').addEventListener('click', () => confirmThen({
    title: 'Reload the policy file?',
    about: ['A valid file applies at once. An invalid file changes nothing.'],
    verb: 'Reload',
  }, async () => {
    await api('v1/reload', { method: 'POST', body: {} });
    notify('Policy file reloaded.', 'good');
  }));
}
