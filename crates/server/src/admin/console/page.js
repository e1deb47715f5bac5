// Elements of the page. What came from outside only ever becomes text.

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

/** Touches the page only where something is different: it stays calm, and so do screen readers. */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function set(element, name, value) {
  if (value == null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

function show(element, isShown) {
  if (element.hidden === isShown) element.hidden = !isShown;
}

function badge(text, tone) {
  return make('span', { class: 'badge', 'data-tone': tone }, text);
}

/** The colour of a series beside its name. */
function swatch(name) {
  return draw('svg', { class: 'swatch', viewBox: '0 0 10 10', 'aria-hidden': 'true' }, draw('rect', { width: 10, height: 10, rx: 2, class: name }));
}

/** `[term, description]` pairs; a description is text or elements. */
function facts(list, pairs) {
  const shown = pairs.filter(([, description]) => description != null && description !== '');
  list.replaceChildren(...shown.map(([term, description]) => make('div', {}, make('dt', {}, term), make('dd', {}, ...[description].flat()))));
}

/** The same where only numbers change: elements stay, texts are written. */
function numbers(list, pairs) {
  if (list.children.length !== pairs.length) {
    list.replaceChildren(...pairs.map(([term]) => make('div', {}, make('dt', {}, term), make('dd'))));
  }
  pairs.forEach(([, text], index) => write(list.children[index].lastChild, text));
}

/** Where the focus goes when what had it is gone: nobody begins at the top of the page again. */
function focusTitle() {
  at(`${shownView}-title`).focus({ preventScroll: true });
}

/** Other children for a place that somebody may be in. */
function replace(place, ...children) {
  const isInside = place.contains(document.activeElement);
  place.replaceChildren(...children);
  if (isInside) focusTitle();
}

/**
 * Rows by their keys: those that stay are written anew, not made anew. While somebody points at the table or is in it, rows keep
 * their places, so that nobody presses what was somewhere else a moment ago.
 */
function rows(table, items, { key, create, update, empty }) {
  const body = table.tBodies[0];
  const old = new Map([...body.rows].filter((row) => row.dataset.key).map((row) => [row.dataset.key, row]));
  const isHeld = old.size > 0 && body.matches(':hover, :focus-within');
  const times = new Map();
  const wanted = items.map((item) => {
    // Two that look the same have a row each.
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
  } else if (isHeld) {
    hold(body, wanted);
  } else if (wanted.length !== body.rows.length || wanted.some((row, index) => body.rows[index] !== row)) {
    body.replaceChildren(...wanted);
  }
}

/** New rows go below the others. Once half of all are not wanted any more, those leave that are below whoever is there: nothing above moves. */
function hold(body, wanted) {
  body.append(...wanted.filter((row) => !row.isConnected));
  if (body.rows.length <= 2 * wanted.length) return;
  const all = [...body.rows];
  const held = all.findLastIndex((row) => row.matches(':hover, :focus-within'));
  all.slice(held + 1).filter((row) => !wanted.includes(row)).forEach((row) => row.remove());
}

/** A cell of a table that is a list of blocks on narrow screens: it says what it is. */
function cell(label, className, ...children) {
  return make('td', { class: className || null, 'data-label': label || null }, ...children);
}

/** How full something is, for eyes and for screen readers. */
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
