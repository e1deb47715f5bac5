/** Header fields: their lines as one value, and the members of a value. */

/** Headers as pairs of name and value, in order. Names may repeat and have no case. */
export type HeaderPairs = Iterable<readonly [string, string]>;

/** Headers of a library as pairs: those that it can iterate, or an object with lists of lines. */
export function headerPairs(headers: object): HeaderPairs {
  const pairs: (readonly [string, unknown])[] =
    Symbol.iterator in headers ? [...headers as HeaderPairs] : Object.entries(headers);
  return pairs.flatMap(([name, value]) => [value].flat().map((line) => [name, String(line)] as const));
}

/** Lines of a field as one value, as RFC 9110 combines them. */
export function combined(headers: HeaderPairs, name: string): string | undefined {
  const lines = [];
  for (const [line, value] of headers) {
    if (line.toLowerCase() === name) lines.push(trim(value));
  }
  return lines.length > 0 ? lines.join(', ') : undefined;
}

/** Text without spaces and tabs around it. `String.trim` removes more than HTTP does. */
export function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text[start])) start += 1;
  while (end > start && isBlank(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}
