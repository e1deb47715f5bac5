/**
 * Parser of lists of structured fields (RFC 9651).
 *
 * It reads the whole grammar, since one mistake makes a field unusable, but returns only names and
 * integers.
 */

/** Item of a list. */
export interface ListItem {
  /** Name as it was written, quotes included. No two spellings mean the same string. */
  readonly name: string;
  /** Parameters that are integers. */
  readonly integers: ReadonlyMap<string, number>;
}

const SPACES = / */y;
const BLANKS = /[ \t]*/y;
const KEY = /[a-z*][a-z0-9_.*-]*/y;
// A number ends where its digits end: what is too long matches nothing.
const INTEGER = /-?[0-9]{1,15}(?![0-9.])/y;
const DISPLAY_STRING = /%"(?:[ !#$&-~]|%[0-9a-f]{2})*"/y;
const OTHER_VALUES = [
  /-?[0-9]{1,12}\.[0-9]{1,3}/y, // decimal
  /"(?:[ !#-[\]-~]|\\["\\])*"/y, // string
  /[A-Za-z*][A-Za-z0-9!#$%&'*+\-.^_`|~:/]*/y, // token
  /:[A-Za-z0-9+/=]*:/y, // byte sequence, of which only the alphabet is checked
  /\?[01]/y, // boolean
  /@-?[0-9]{1,15}(?![0-9.])/y, // date
];

/** Items of a list, without inner lists. `undefined` if the list is malformed. */
export function parseList(value: string): ListItem[] | undefined {
  try {
    return list(new Input(value));
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

/** Mistake in a list. It never leaves this file. */
class Malformed extends Error {}

/** Text with the position up to which it is parsed. */
class Input {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#position === this.#text.length;
  }

  peek(): string | undefined {
    return this.#text[this.#position];
  }

  /** Part that a sticky pattern matches here. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position;
    const part = pattern.exec(this.#text)?.[0];
    this.#position += part?.length ?? 0;
    return part;
  }

  has(character: string): boolean {
    const has = this.peek() === character;
    if (has) this.#position += 1;
    return has;
  }
}

function list(input: Input): ListItem[] {
  const items: ListItem[] = [];
  input.match(SPACES);
  if (input.isAtEnd) return items;
  for (;;) {
    if (input.has('(')) innerList(input);
    else items.push(item(input));
    input.match(BLANKS);
    if (input.isAtEnd) return items;
    expect(input.has(','));
    input.match(BLANKS);
  }
}

/** Rest of an inner list, after its parenthesis. */
function innerList(input: Input): void {
  for (;;) {
    input.match(SPACES);
    if (input.has(')')) break;
    item(input);
    expect(input.peek() === ' ' || input.peek() === ')');
  }
  parameters(input);
}

function item(input: Input): ListItem {
  const { text } = bareItem(input);
  return { name: text, integers: parameters(input) };
}

function parameters(input: Input): Map<string, number> {
  const integers = new Map<string, number>();
  while (input.has(';')) {
    input.match(SPACES);
    const key = expect(input.match(KEY));
    const integer = input.has('=') ? bareItem(input).integer : undefined;
    // The last of repeated parameters counts, whatever its type.
    if (integer === undefined) integers.delete(key);
    else integers.set(key, integer);
  }
  return integers;
}

/** Value of any type: its text, and its number if it is an integer. */
function bareItem(input: Input): { text: string; integer?: number } {
  const integer = input.match(INTEGER);
  // The sum turns -0 into 0.
  if (integer !== undefined) return { text: integer, integer: Number(integer) + 0 };
  const display = input.match(DISPLAY_STRING);
  if (display !== undefined) {
    expect(isUtf8(display));
    return { text: display };
  }
  for (const pattern of OTHER_VALUES) {
    const text = input.match(pattern);
    if (text !== undefined) return { text };
  }
  throw new Malformed();
}

/** Whether the escapes of a display string are UTF-8. */
function isUtf8(display: string): boolean {
  try {
    decodeURIComponent(display.slice(1));
    return true;
  } catch {
    return false;
  }
}

function expect<T>(value: T): NonNullable<T> {
  if (!value) throw new Malformed();
  return value;
}
