/** What the buttons change in the text of a configuration, as small edits. Pure. */
import { isBrowserRefused, parseListenAddress } from '../../../src/config/address.ts';
import type { ListenAddress } from '../../../src/config/config.ts';
import { setValue } from '../../../src/config/edit/edit-text.ts';
import { pathOf } from '../../../src/config/edit/path.ts';
import { isList, isObject } from '../../../src/config/json-value.ts';
import { locate, type Json } from '../../../src/config/locate.ts';
import { schema } from '../../../src/config/schema.ts';

/** What a text has at a place; undefined: nothing. */
export function valueIn(text: string, path: string): Json | undefined {
  const place = locate(text).places.get(path);
  return place === undefined ? undefined : (JSON.parse(text.slice(place.value, place.end)) as Json);
}

/** @returns null: the text is no JSON, or has no such place */
export function withAddress(text: string, path: string, address: string): string | null {
  return setValue(text, pathOf(path), address, () => []);
}

/**
 * The text with an admin block, or as it is where it has one.
 * @returns null: the text is no JSON object
 */
export function withAdmin(text: string): string | null {
  if (isObject(valueIn(text, 'admin'))) return text;
  // Whoever knows the secret that the other name stands for would be an operator.
  const isUsed = [...stringsIn(locate(text).value)].includes(usualName);
  const block = { token_env: isUsed ? `SVC_${usualName}` : usualName };
  return setValue(text, ['admin'], block, () => Object.keys(schema.fields));
}

const usualName = 'ADMIN_TOKEN';

/** How far from the old port a new one is looked for. */
const portsTried = 20;
/** Ports below are the system's. */
const firstOwn = 1_024;

/** Ports to try in place of the one of an address, near it; none that the text has already. */
export function portsBeside({ port }: Pick<ListenAddress, 'port'>, text: string): number[] {
  const first = port < firstOwn ? port + 8_000 : port + 1;
  const used = new Set([...stringsIn(locate(text).value)].flatMap((one) => portIn(one) ?? []));
  const near = Array.from({ length: portsTried }, (_, step) => first + step);
  return near.filter((one) => one <= 65_535 && !used.has(one) && !isBrowserRefused(one));
}

/** Of an address to listen at, or of one where something is asked or sent. */
function portIn(text: string): number | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && url.port !== '') return Number(url.port);
  return parseListenAddress(text, true)?.port ?? null;
}

/** As it is written: an IPv6 address in brackets. */
export function addressText({ host }: Pick<ListenAddress, 'host'>, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function* stringsIn(value: Json | undefined): Generator<string> {
  if (typeof value === 'string') yield value;
  const inner = isList(value) ? value : isObject(value) ? Object.values(value) : [];
  for (const one of inner) yield* stringsIn(one);
}
