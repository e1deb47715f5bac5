// Elements of the page. Data from the server only becomes text, never markup.

const SVG = 'http://www.w3.org/2000/svg';

function at(id) {
  return document.getElementById(id);
}

function put(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function make(tag, attributes = {}, ...children) {
  return put(document.createElement(tag), attributes, children);
}

function draw(tag, attributes = {}, ...children) {
  return put(document.createElementNS(SVG, tag), attributes, children);
}

/** Writes a text only if it differs, so that screen readers stay quiet. */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function set(element, name, value) {
  if (value == null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

function show(element, isVisible) {
  if (element.hidden === isVisible) element.hidden = !isVisible;
}

function badge(text, tone) {
  return make('span', { class: 'badge', 'data-tone': tone }, text);
}

/** Colour of a series, beside its name. */
function swatch(name) {
  return draw('svg', { class: 'swatch', viewBox: '0 0 10 10', 'aria-hidden': 'true' }, draw('rect', { width: 10, height: 10, rx: 2, class: name }));
}

/** Replaces a list by `[term, description]` pairs; a description is text or elements. */
function facts(list, pairs) {
  const filled = pairs.filter(([, description]) => description != null && description !== '');
  list.replaceChildren(...filled.map(([term, description]) => make('div', {}, make('dt', {}, term), make('dd', {}, ...[description].flat()))));
}

/** The same for changing numbers: elements stay, texts change. */
function numbers(list, pairs) {
  if (list.children.length !== pairs.length) {
    list.replaceChildren(...pairs.map(([term]) => make('div', {}, make('dt', {}, term), make('dd'))));
  }
  pairs.forEach(([, text], index) => write(list.children[index].lastChild, text));
}

/** Moves the focus to the title, if the focused element is gone. */
function focusTitle() {
  at(`${currentView}-title`).focus({ preventScroll: true });
}

/** Replaces children, also if the focus is on one of them. */
function replace(place, ...children) {
  const isInside = place.contains(document.activeElement);
  place.replaceChildren(...children);
  if (isInside) focusTitle();
}

/**
 * Updates the rows of a table by their keys. While the pointer or the focus is in the table, rows
 * keep their positions, so that nobody presses the wrong button.
 */
function rows(table, items, { key, create, update, empty }) {
  const body = table.tBodies[0];
  const old = new Map([...body.rows].filter((row) => row.dataset.key).map((row) => [row.dataset.key, row]));
  const isFocused = old.size > 0 && body.matches(':hover, :focus-within');
  const times = new Map();
  const wanted = items.map((item) => {
    // Two items with the same key have a row each.
    const time = (times.get(key(item)) ?? 0) + 1;
    times.set(key(item), time);
    const name = `${time} ${key(item)}`;
    const row = old.get(name) ?? put(create(item), { 'data-key': name }, []);
    update(row, item);
    return row;
  });
  if (!wanted.length) {
    if (!body.querySelector('.empty')) replace(body, make('tr', {}, make('td', { class: 'empty', colspan: table.tHead.rows[0].cells.length })));
    write(body.querySelector('.empty'), empty);
  } else if (isFocused) {
    hold(body, wanted);
  } else if (wanted.length !== body.rows.length || wanted.some((row, index) => body.rows[index] !== row)) {
    body.replaceChildren(...wanted);
  }
}

/** Appends new rows. Once half of all are stale, removes those below the pointer or the focus: nothing above it moves. */
function hold(body, wanted) {
  body.append(...wanted.filter((row) => !row.isConnected));
  if (body.rows.length <= 2 * wanted.length) return;
  const all = [...body.rows];
  const focused = all.findLastIndex((row) => row.matches(':hover, :focus-within'));
  all.slice(focused + 1).filter((row) => !wanted.includes(row)).forEach((row) => row.remove());
}

/** Cell with a label, which narrow screens display. */
function cell(label, className, ...children) {
  return make('td', { class: className || null, 'data-label': label || null }, ...children);
}

/** Meter, also for screen readers. */
function meter(label) {
  const bar = draw('rect', { height: '100%', width: '0' });
  return make('div', { class: 'meter', role: 'meter', 'aria-label': label, 'aria-valuemin': 0 }, draw('svg', {}, bar));
}

function fillMeter(element, used, most, text) {
  const full = most > 0 ? Math.min(1, used / most) : 0;
  set(element, 'aria-valuemax', most);
  set(element, 'aria-valuenow', Math.min(used, most));
  set(element, 'aria-valuetext', text);
  set(element, 'data-tone', full >= 1 ? 'bad' : full >= 0.8 ? 'warn' : null);
  set(element.querySelector('rect'), 'width', `${100 * full}%`);
}
