/** The parser of lists, beside another implementation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseList as parseReference } from 'structured-headers';

import { parseList } from '../src/advice/list.ts';
import { forEachCase, type Choice } from './kit/cases.ts';

const KEYS = ['q', 'r', 't'];

/** Parts of which most lists are well-formed, and every mistake is likely. */
const VALUES = [
  '"burst"', '"a, \\"b\\\\"', '""', '"', '"\\n"', 'burst', '*a:b/c', 'A!#', 'r', ':YWJj:', ':*:', '::',
  '?1', '?0', '?2', '%"f%c3%bc"', '%"%c3"', '%"%C3"', '%"a"', '%', '7', '-7', '-0', '-', '1.5', '-0.125',
  '999999999999999', '1000000000000000', '123456789012.123', '1234567890123.1', '0.1234', '1.',
  '()', '("a" b;r=0)', '( "a"  )', '("a""b")', '(', ')', '((a))', '\u00e9', '',
];
const PARAMETERS = [
  ';r=0', ';t=30', ';q=100', ';r=-0', ';t=-5', ';r', ';t=1.5', ';t="3"', '; r=7', ';R=0', ';*x.y-z_1=a',
  ';pk=:YWJj:', ';n=%"f%c3%bc"', ';r=?0', ';t=999999999999999', ';t=1000000000000000', ';', ';=', ';r=',
  ' ;r=1',
];
const SEPARATORS = [', ', ', ', ', ', ',', '\t,\t', ' , ', ' ', ',,', '', '='];

function randomList(choice: Choice): string {
  let text = choice.pick(['', '', '', ' ', '\t']);
  const items = 1 + choice.below(4);
  for (let item = 0; item < items; item += 1) {
    if (item > 0) text += choice.pick(SEPARATORS);
    text += choice.pick(VALUES);
    for (let count = choice.below(4); count > 0; count -= 1) text += choice.pick(PARAMETERS);
  }
  return text + choice.pick(['', '', '', ' ', ',', '\t']);
}

type Integers = (number | undefined)[][];

function integers(text: string): Integers | undefined {
  return parseList(text)?.map((item) => KEYS.map((key) => item.integers.get(key)));
}

function reference(text: string): Integers | undefined {
  let list;
  try {
    list = parseReference(text);
  } catch {
    return undefined;
  }
  const items = list.filter(([value]) => !Array.isArray(value));
  return items.map(([, parameters]) => KEYS.map((key) => {
    const value = parameters.get(key);
    // No decimal above is a whole number. The sum turns -0 into 0.
    return Number.isInteger(value) ? Number(value) + 0 : undefined;
  }));
}

test('parses what structured-headers parses', () => {
  let wellFormed = 0;
  let cases = 0;
  forEachCase((choice) => {
    const text = randomList(choice);
    const expected = reference(text);
    assert.deepEqual(integers(text), expected, JSON.stringify(text));
    cases += 1;
    if (expected !== undefined) wellFormed += 1;
  });
  // Few cases may be of one kind by chance.
  const isMixed = wellFormed > cases / 20 && wellFormed < cases * 0.95;
  assert.ok(cases < 100 || isMixed, `${wellFormed} of ${cases}`);
});

/** structured-headers accepts a date only at the end of a field. */
test('parses dates and byte sequences', () => {
  assert.deepEqual(integers('@12;r=0, a;d=@-3;t=1'), [[undefined, 0, undefined], [undefined, undefined, 1]]);
  for (const text of ['@1.5', '@', '@-', '@1000000000000000', ':YWJj', ':', 'a;d=@x']) {
    assert.equal(parseList(text), undefined, text);
  }
});

test('names are as they were written', () => {
  const names = parseList('"a\\"b";r=0, a, 1.5;t=1, (x y), ?1, %"f%c3%bc"')?.map(({ name }) => name);
  assert.deepEqual(names, ['"a\\"b"', 'a', '1.5', '?1', '%"f%c3%bc"']);
});

test('a long field is read in one pass', () => {
  const count = 100_000;
  assert.equal(parseList(Array(count).fill('"a";r=0;t=1').join(','))?.length, count);
  assert.equal(parseList(`"${'a'.repeat(1_000_000)}"`)?.length, 1);
  assert.equal(parseList('a;'.repeat(count)), undefined);
  assert.equal(parseList('('.repeat(count)), undefined);
});
