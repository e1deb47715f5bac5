// The view Overrides: list, add and remove.

let exceptionWhen = null;
/** Null until they are loaded. */
let overrides = null;

async function readOverrides() {
  let message = '';
  try {
    ({ overrides } = await api('v1/overrides'));
  } catch (error) {
    overrides = null;
    message = sentence(error.message);
  }
  renderOverrides();
  write(at('overrides-note'), message);
}

function renderOverrides() {
  rows(at('overrides'), overrides ?? [], {
    key: ({ id }) => id,
    empty: overrides ? 'No overrides. All rules apply as configured.' : 'Cannot load the overrides.',
    create: (one) => {
      const remove = make('button', { type: 'button' }, 'Remove…');
      set(remove, 'aria-label', `Remove the override of ${one.rule ?? one.id}`);
      remove.addEventListener('click', () => confirmRemove(one));
      return make('tr', {}, make('td', {}, one.rule ?? one.id), cell('Where', '', make('span', { class: 'key' }, whenText(one.when))),
        cell('Effect', '', effectText(one)), cell('Reason', '', one.reason || NONE), cell('Ends', 'ends'), make('td', { class: 'number' }, remove));
    },
    update: (row, one) => {
      const left = one.expires_at_ms - serverNow();
      const text = left > 0 ? `in ${span(left)}, ${moment(one.expires_at_ms)}` : 'ended';
      write(row.querySelector('.ends'), one.active ? text : `inactive: ${one.problem ?? 'unknown reason'}`);
    },
  });
}

/** Every second: drops expired overrides, and loads them again if necessary. */
function followOverrides(frame) {
  const { active } = frame.overrides;
  show(at('overrides-count'), active > 0);
  write(at('overrides-count'), String(active));
  if (currentView !== 'overrides') return;
  if (!overrides || overrides.some((one) => one.expires_at_ms <= serverNow())) readOverrides();
  else renderOverrides();
}

function whenText(when) {
  const parts = Object.entries(when ?? {}).map(([name, value]) => (typeof value === 'string' ? `${name}=${value}` : `${name}: ${JSON.stringify(value)}`));
  return parts.join(' ') || 'all requests of the rule';
}

function effectText({ limits, allow, deny, text }) {
  if (limits) return limits.map((limit) => (typeof limit === 'string' ? limit : JSON.stringify(limit))).join(', ');
  return allow ? 'not limited' : deny ? 'blocked' : text ?? 'unknown';
}

function confirmRemove(one) {
  confirmThen({ title: 'Remove this override?', about: [one.text ?? one.id, 'The rule then applies as configured.'], verb: 'Remove', isDangerous: true }, async () => {
    await api(`v1/overrides/${encodeURIComponent(one.id)}`, { method: 'DELETE' });
    notify(`Removed the override: ${one.text ?? one.id}.`, 'good');
    await readOverrides();
  });
}

/** Opens the form for a new override, with a rule and conditions, if given. */
function openException(rule, pairs) {
  fillRuleChoices();
  if (rule) at('exception-rule').value = rule;
  exceptionWhen.set(pairs.map(([name, value]) => [name, value ?? '']));
  const dialog = at('exception');
  dialog.querySelector('form').reset();
  if (rule) at('exception-rule').value = rule;
  exceptionWhen.set(pairs.map(([name, value]) => [name, value ?? '']));
  showLimits();
  open(dialog, 'exception-problem', async () => {
    const set = await api('v1/overrides', { method: 'POST', body: exception() });
    notify(`Set an override until ${moment(set.expires_at_ms)}: ${set.text}.`, 'good');
    await Promise.all([readOverrides(), look()]);
  });
}

function exception() {
  const effect = chosenEffect();
  const limits = at('exception-limits').value.split(',').map((limit) => limit.trim()).filter(Boolean);
  if (effect === 'limits' && !limits.length) throw new Error('enter the limits, for example 50/s, 1000/h');
  return {
    rule: at('exception-rule').value,
    when: Object.fromEntries(exceptionWhen.get()),
    ...(effect === 'limits' ? { limits } : { [effect]: true }),
    expires_in: at('exception-for').value.trim(),
    reason: at('exception-reason').value.trim(),
  };
}

function chosenEffect() {
  return document.querySelector('#exception [name="effect"]:checked').value;
}

function showLimits() {
  show(at('exception-limits-label'), chosenEffect() === 'limits');
}

function listenToOverrides() {
  exceptionWhen = new Attributes(at('exception-when'), at('exception-more'));
  exceptionWhen.changed = () => show(at('exception-all'), exceptionWhen.place.children.length === 0);
  document.querySelectorAll('#exception [name="effect"]').forEach((radio) => radio.addEventListener('change', showLimits));
  at('overrides-add').addEventListener('click', () => openException('', []));
}
