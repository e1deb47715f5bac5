/**
 * Types of the check API, written to `src/api.ts` from the OpenAPI document of the server.
 *
 *   node tools/api.js           writes the file
 *   node tools/api.js --print   prints it
 */
import { readFileSync, writeFileSync } from 'node:fs';

const DOCUMENT = new URL('../../../crates/server/src/protocols/rest/openapi.json', import.meta.url);
const TARGET = new URL('../src/api.ts', import.meta.url);
const OPERATIONS = ['check', 'settle', 'refund'];
const WIDTH = 100;
const { paths, components } = JSON.parse(readFileSync(DOCUMENT, 'utf8'));

/** Names of the schemas that are written, in the order in which they were found. */
const schemas = new Set();

/** Object that a reference names, or the object itself. */
function resolved(object) {
  const [, , kind, name] = object.$ref?.split('/') ?? [];
  return name === undefined ? object : components[kind][name];
}

function comment(text, indent) {
  if (text === undefined) return [];
  const lines = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && `${indent} * ${line} ${word}`.length > WIDTH) {
      lines.push(line);
      line = '';
    }
    line += line === '' ? word : ` ${word}`;
  }
  lines.push(line);
  const single = `${indent}/** ${line} */`;
  if (lines.length === 1 && single.length <= WIDTH) return [single];
  return [`${indent}/**`, ...lines.map((part) => `${indent} * ${part}`), `${indent} */`];
}

function typeOf(schema, indent) {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1);
    schemas.add(name);
    return name;
  }
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  return [schema.type].flat().map((type) => typeNamed(type, schema, indent)).join(' | ');
}

function literal(value) {
  return typeof value === 'string' ? `'${value}'` : String(value);
}

function typeNamed(type, schema, indent) {
  switch (type) {
    case 'integer': case 'number': return 'number';
    case 'string': case 'boolean': case 'null': return type;
    case 'array': return `readonly ${group(typeOf(schema.items, indent))}[]`;
    case 'object': return objectType(schema, indent);
    default: throw new Error(`a schema has the type ${type}: add it to tools/api.js`);
  }
}

function group(type) {
  return /^\w+$/.test(type) ? type : `(${type})`;
}

function objectType({ properties, required = [], additionalProperties }, indent) {
  // Properties of an object with free names are among its strings.
  if (typeof additionalProperties === 'object') {
    return `{ readonly [name: string]: ${typeOf(additionalProperties, indent)} }`;
  }
  const inner = `${indent}  `;
  const lines = Object.entries(properties).flatMap(([name, schema]) => {
    const key = /^\w+$/.test(name) ? name : literal(name);
    const mark = required.includes(name) ? '' : '?';
    const property = `${inner}readonly ${key}${mark}: ${typeOf(schema, inner)};`;
    return [...comment(schema.description, inner), property];
  });
  return ['{', ...lines, `${indent}}`].join('\n');
}

function bodyType(object) {
  const { content = {} } = resolved(object);
  const [media] = Object.values(content);
  return typeOf(media.schema, '    ');
}

function operation(id) {
  const found = Object.values(paths).flatMap((methods) => Object.values(methods));
  const { summary, requestBody, responses } = found.find(({ operationId }) => operationId === id);
  return [
    ...comment(`${summary}.`, '  '),
    `  readonly ${id}: {`,
    `    readonly request: ${bodyType(requestBody)};`,
    '    readonly responses: {',
    ...Object.entries(responses).map(([status, body]) => `      readonly ${status}: ${bodyType(body)};`),
    '    };',
    '  };',
  ];
}

function file() {
  const operations = OPERATIONS.flatMap(operation);
  const types = [];
  // Schemas that the type of a schema names are added during the loop.
  for (const name of schemas) {
    const schema = components.schemas[name];
    types.push('', ...comment(schema.description, ''), `export interface ${name} ${typeOf(schema, '')}`);
  }
  return [
    '// Generated from openapi.json of the server by `npm run api`.',
    '',
    '/** Operations of the API: the body of a request, and that of the response to each status. */',
    'export interface Operations {',
    ...operations,
    '}',
    ...types,
    '',
  ].join('\n');
}

if (process.argv.includes('--print')) process.stdout.write(file());
else writeFileSync(TARGET, file());
