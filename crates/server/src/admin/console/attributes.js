// Rows of a name and a value that a form can have any number of.

class Attributes {
  /** `more` is the button for another one. */
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

  /** These rows and no others. */
  set(pairs) {
    this.place.replaceChildren();
    pairs.forEach(([name, value]) => this.add(name, value));
    this.changed?.();
  }

  /** What was typed; a row without a name is none. */
  get() {
    const pairs = [...this.place.children].map((row) => {
      const [name, value] = row.querySelectorAll('input');
      return [name.value.trim(), value.value];
    });
    return pairs.filter(([name]) => name);
  }
}
