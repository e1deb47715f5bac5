// Form rows with a name and a value each.

class Attributes {
  /** `more` is the button that adds a row. */
  constructor(place, more) {
    this.place = place;
    this.more = more;
    more.addEventListener('click', () => this.add().querySelector('input').focus());
  }

  add(name = '', value = '') {
    const remove = make('button', { type: 'button', 'aria-label': 'Remove this attribute' }, 'Remove');
    const row = make('div', { class: 'attribute' },
      make('input', { 'aria-label': 'Attribute', placeholder: 'ip', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off' }),
      make('input', { 'aria-label': 'Value', placeholder: '203.0.113.7', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off' }), remove);
    [row.children[0].value, row.children[1].value] = [name, value];
    remove.addEventListener('click', () => {
      const next = row.nextElementSibling ?? row.previousElementSibling;
      row.remove();
      (next?.querySelector('input') ?? this.more).focus();
      this.changed?.();
    });
    this.place.append(row);
    this.changed?.();
    return row;
  }

  /** Replaces all rows. */
  set(pairs) {
    this.place.replaceChildren();
    pairs.forEach(([name, value]) => this.add(name, value));
    this.changed?.();
  }

  /** Names and values of the rows that have a name. */
  get() {
    const pairs = [...this.place.children].map((row) => {
      const [name, value] = row.querySelectorAll('input');
      return [name.value.trim(), value.value];
    });
    return pairs.filter(([name]) => name);
  }
}
