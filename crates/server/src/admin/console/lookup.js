// The view Look up: usage of a subject's limits, and its reset.

let lookAttributes = null;
/** Request body of the subject in view. */
let inspected = null;
/** Number of requests, and the last one whose response is displayed. */
let lookTurn = 0;
let renderedLook = 0;

/** Address of a subject within this page. */
function lookAddress(rule, subject) {
  const pairs = Object.entries(subject).filter(([, value]) => value != null).map(([name, value]) => [name, requestValue(name, value)]);
  return `#look?${new URLSearchParams([['rule', rule], ...pairs.map(([name, value]) => [`a.${name}`, value])])}`;
}

/** Shows the subject of such an address. */
function goToSubject(parameters) {
  const rule = parameters.get('rule') ?? '';
  const pairs = [...parameters].filter(([name]) => name.startsWith('a.')).map(([name, value]) => [name.slice(2), value]);
  fillRuleChoices();
  at('look-rule').value = [...at('look-rule').options].some((option) => option.value === rule) ? rule : '';
  if (!pairs.length && !rule) {
    inspected = null;
    at('subjects').replaceChildren();
    show(at('look-message'), false);
    suggestAttributes();
    return;
  }
  lookAttributes.set(pairs);
  inspected = { ...(rule && { rule }), attributes: Object.fromEntries(pairs) };
  at('subjects').replaceChildren();
  look();
}

async function look() {
  if (!inspected) return;
  const [request, turn] = [inspected, (lookTurn += 1)];
  let answer = { subjects: [] };
  let message = '';
  try {
    answer = await api('v1/keys/look', { method: 'POST', body: inspected });
    message = answer.message ?? '';
  } catch (error) {
    message = error.message;
  }
  // Another subject is in view now, or a newer response came first.
  if (request !== inspected || turn < renderedLook) return;
  renderedLook = turn;
  write(at('look-message'), message && sentence(message));
  show(at('look-message'), Boolean(message));
  renderSubjects(answer.subjects);
}

function renderSubjects(subjects) {
  const place = at('subjects');
  const keys = subjects.map((subject) => JSON.stringify([subject.rule, subject.key, subject.limits.map(({ policy: name }) => name)]));
  if (JSON.stringify([...place.children].map((card) => card.dataset.key)) !== JSON.stringify(keys)) {
    replace(place, ...subjects.map((subject, index) => subjectCard(subject, keys[index])));
  }
  subjects.forEach((subject, index) => fillSubject(place.children[index], subject));
}

function subjectCard(subject, key) {
  const name = `${subject.rule} ${keyText(subject.key)}`;
  const reset = make('button', { type: 'button', class: 'reset' }, 'Reset…');
  const except = make('button', { type: 'button', class: 'except' }, 'Override…');
  set(reset, 'aria-label', `Reset ${name}`);
  set(except, 'aria-label', `Override for ${name}`);
  reset.addEventListener('click', () => confirmReset(subject));
  except.addEventListener('click', () => openException(subject.rule, Object.entries(subject.key)));
  if (Object.values(subject.key).includes(null)) {
    except.disabled = true;
    except.title = 'Conditions cannot match a missing attribute.';
  }
  const head = ['Limit', 'Usage', 'Used', 'Left', 'Next slot', 'Fully reset'].map((text, index) => make('th', { scope: 'col', class: [2, 3].includes(index) ? 'number' : null }, text));
  const body = subject.limits.map((limit) => make('tr', { 'data-limit': limit.policy },
    make('td', {}, limit.limit), cell('', '', meter(`${limit.limit} used`)), cell('Used', 'number used'), cell('Left', 'number left'),
    cell('Next slot', 'frees'), cell('Fully reset', 'fresh')));
  return make('article', { class: 'card subject', 'data-key': key, 'aria-label': name },
    make('div', { class: 'title' }, make('h2', {}, subject.rule), make('span', { class: 'key' }, ...subjectText(subject.key)),
      make('span', { class: 'badges' }), make('p', { class: 'actions' }, reset, except)),
    make('table', { class: 'rows' }, make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...body)));
}

function fillSubject(card, subject) {
  const badges = [[subject.mode, subject.mode === 'observed' ? 'warn' : 'good']];
  if (subject.listed) badges.push([subject.listed === 'allow' ? 'allowed: on the allow list' : 'blocked: on the deny list', subject.listed === 'allow' ? 'good' : 'bad']);
  if (!/^all (requests|others)$/.test(subject.applies_to)) badges.push([subject.applies_to, null]);
  if (subject.source !== 'store') badges.push([`${subject.source}: the store is unavailable`, 'bad']);
  const place = card.querySelector('.badges');
  if (place.dataset.rendered !== JSON.stringify(badges)) {
    place.dataset.rendered = JSON.stringify(badges);
    place.replaceChildren(...badges.flatMap(([text, tone]) => [badge(text, tone), ' ']));
  }
  subject.limits.forEach((limit, index) => fillLimit(card.querySelectorAll('tbody tr')[index], limit, subject.looked_at_ms));
}

function fillLimit(row, limit, lookedAt) {
  const { used, quota, remaining } = limit;
  write(row.querySelector('.used'), `${count(used)} of ${count(quota)}`);
  write(row.querySelector('.left'), count(remaining));
  fillMeter(row.querySelector('.meter'), used ?? 0, quota, `${count(used)} of ${count(quota)}`);
  const frees = row.querySelector('.frees');
  fillMoment(frees, limit.retry_after_ms ?? limit.retry_after_at_most_ms, lookedAt, remaining > 0 ? 'now' : NONE);
  set(frees, 'title', limit.retry_after_at_most_ms ? 'At the latest: a slot may be released at any time' : null);
  fillMoment(row.querySelector('.fresh'), limit.reset_after_ms, lookedAt, NONE);
}

/** Time of day and a countdown to it. */
function fillMoment(place, afterMs, lookedAt, otherwise) {
  if (!afterMs) return write(place, afterMs === 0 ? 'now' : otherwise);
  const when = place.querySelector('time') ?? make('time');
  if (!when.isConnected) place.replaceChildren(when);
  set(when, 'datetime', new Date(lookedAt + afterMs).toISOString());
  write(when, `in ${span(afterMs)}, ${clock(lookedAt + afterMs)}`);
}

function confirmReset(subject) {
  confirmThen({
    title: 'Reset this subject?',
    about: [make('span', {}, `${subject.rule}: `, make('span', { class: 'key' }, keyText(subject.key))),
      'Its usage is reset on all servers that share the store. Slots in flight are released.'],
    verb: 'Reset',
    isDangerous: true,
  }, async () => {
    const attributes = Object.fromEntries(Object.entries(subject.key).filter(([, value]) => value != null).map(([name, value]) => [name, requestValue(name, value)]));
    const { subjects, message } = await api('v1/keys/reset', { method: 'POST', body: { rule: subject.rule, attributes } });
    if (!subjects.length) throw new Error(message);
    notify(`Reset ${subject.rule} ${keyText(subject.key)}: ${subjects.flatMap(({ limits }) => limits).join(', ')}.`, 'good');
    look();
  });
}

/** Fills in the attribute names of the rule's key. */
function suggestAttributes() {
  const rule = policy?.rules.find(({ name }) => name === at('look-rule').value);
  const names = !rule ? ['ip'] : rule.key.startsWith('none:') ? [] : rule.key.split(' and ').map((part) => part.split(' or else ')[0]);
  const typed = new Map(lookAttributes.get());
  lookAttributes.set(names.map((name) => [name, typed.get(name) ?? '']));
}

function fillRuleChoices() {
  for (const [id, first] of [['look-rule', 'Any matching rule'], ['exception-rule', null]]) {
    const select = at(id);
    const names = (policy?.rules ?? []).map(({ name }) => name);
    if (JSON.stringify([...select.options].map(({ value }) => value).filter(Boolean)) === JSON.stringify(names) && select.options.length) continue;
    const { value } = select;
    select.replaceChildren(...(first ? [make('option', { value: '' }, first)] : []), ...names.map((name) => make('option', { value: name }, name)));
    if (names.includes(value)) select.value = value;
  }
}

function listenToLook() {
  lookAttributes = new Attributes(at('look-attributes'), at('look-more'));
  at('look-rule').addEventListener('change', suggestAttributes);
  at('look').addEventListener('submit', (event) => {
    event.preventDefault();
    const address = lookAddress(at('look-rule').value, Object.fromEntries(lookAttributes.get().filter(([, value]) => value)));
    if (location.hash === address) goToSubject(new URLSearchParams(address.slice('#look?'.length)));
    else location.hash = address;
  });
}
