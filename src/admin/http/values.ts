/** The values that a request gives to a route, of its path, query and head, checked. */
import type { IncomingMessage } from 'node:http';
import { formatFault } from '../../config/formats.ts';
import { isPlace } from '../../domain/page.ts';
import type { Parameter, Parameters, Values } from '../routes/route.ts';

type Value = Values[string];

/** `what` is one sentence that names the parameter. */
export type ValuesFault = { readonly kind: 'fault'; readonly what: string };
export type ValuesRead = { readonly kind: 'read'; readonly values: Values } | ValuesFault;

/**
 * @param captured the parameters of the path, as sent
 * @param query as sent, without its question mark; not looked at for a route without parameters
 *   in it
 * @param headers each with all of its lines
 */
export function readValues(
  parameters: Parameters,
  captured: ReadonlyMap<string, string>,
  query: string,
  headers: IncomingMessage['headersDistinct'] = {},
): ValuesRead {
  const entries = Object.entries(parameters);
  const asked = entries.some(([, { kind }]) => isOfQuery(kind)) ? pairsOf(query) : [];
  if (asked === null) return fault('The query has a malformed percent-encoding.');
  const known = entries.filter(([, { kind }]) => isOfQuery(kind)).map(([name]) => name);
  // Otherwise a mistyped filter would filter nothing.
  if (asked.some(([key]) => !known.includes(key))) {
    return fault(`The query has a name that means nothing here; it may have ${known.join(', ')}.`);
  }
  const values: Record<string, Value> = {};
  for (const [name, parameter] of entries) {
    const given = isOfQuery(parameter.kind)
      ? asked.filter(([key]) => key === name).map(([, value]) => value)
      : parameter.kind === 'segment'
        ? [decoded(captured.get(name) ?? '')]
        : (headers[name] ?? []);
    if (given.length > 1) return fault(`${name} is given more than once.`);
    const [one] = given;
    if (one === null) return fault(`${name} has a malformed percent-encoding.`);
    const value = valueOf(parameter, one);
    if (value === undefined) return fault(`${name} is ${limitOf(parameter)}.`);
    values[name] = value;
  }
  return { kind: 'read', values };
}

function isOfQuery(kind: Parameter['kind']): boolean {
  return kind !== 'segment' && kind !== 'header';
}

/** undefined: the value is not within its limits. */
function valueOf(parameter: Parameter, given: string | undefined): Value | undefined {
  if (given === undefined) return parameter.kind === 'integer' ? parameter.otherwise : null;
  switch (parameter.kind) {
    case 'integer': {
      const value = /^\d{1,9}$/.test(given) ? Number(given) : -1;
      return value >= parameter.min && value <= parameter.max ? value : undefined;
    }
    case 'time':
      return /^\d{1,15}$/.test(given) ? Number(given) : undefined;
    case 'word':
      return parameter.words.find((word) => word === given);
    case 'place':
      return given.length <= parameter.charactersMax && isPlace(given) ? given : undefined;
    case 'segment': {
      const isWrong = parameter.format !== undefined && formatFault(parameter.format, given);
      return given.length <= parameter.charactersMax && !isWrong ? given : undefined;
    }
    case 'header':
    case 'text':
      return given.length <= parameter.charactersMax ? given : undefined;
    default:
      return parameter satisfies never;
  }
}

function limitOf(parameter: Parameter): string {
  switch (parameter.kind) {
    case 'integer':
      return `a whole number from ${parameter.min} to ${parameter.max}`;
    case 'time':
      return 'a time in milliseconds since 1970';
    case 'word':
      return `one of ${parameter.words.join(', ')}`;
    case 'place':
      return 'the "next" of a page, as it was given';
    case 'segment':
      if (parameter.format === 'env') return 'not the name of an environment variable';
      return `at most ${parameter.charactersMax} characters long`;
    case 'header':
    case 'text':
      return `at most ${parameter.charactersMax} characters long`;
    default:
      return parameter satisfies never;
  }
}

/** null: something in the query cannot be decoded. A `+` is a space: URL Standard, section 5.1. */
function pairsOf(query: string): readonly (readonly [string, string])[] | null {
  const pairs: (readonly [string, string])[] = [];
  for (const part of query.split('&')) {
    if (part === '') continue;
    const [key, ...rest] = part.replaceAll('+', ' ').split('=');
    const name = decoded(key!);
    const value = decoded(rest.join('='));
    if (name === null || value === null) return null;
    pairs.push([name, value]);
  }
  return pairs;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function fault(what: string): ValuesFault {
  return { kind: 'fault', what };
}
