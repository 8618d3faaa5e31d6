/** The requests of one connection, their pieces, and the client's way with the answers. */
import { seeded } from '../proof.ts';
import { halfBody, longConversation, odd, type Kind, type ListenerName } from './requests.ts';

const clients = [
  'reads none and stays',
  'reads none and resets',
  'reads none and ends its side',
  'reads half and stops',
  'reads all late',
] as const;
export type Pattern = {
  readonly listener: ListenerName;
  readonly requests: readonly Kind[];
  readonly client: (typeof clients)[number];
  readonly isCut: boolean;
  /** For all other random choices of the connection. */
  readonly random: () => number;
  readonly text: string;
};

const depths = { from: 10, to: 1_000 };
const bytesMax = 2 * 1_048_576;

/**
 * Makes a pattern. The first two are known to have ended the process. Each later one has another
 * kind of request, and about half of them mix in others.
 * @param kinds all but the odd ones
 * @param sizeOf the size of an answer
 */
export function patternOf(
  number: number,
  seed: number,
  kinds: readonly Kind[],
  sizeOf: (kind: Kind) => number,
): Pattern {
  const random = seeded(seed * 1_009 + number);
  const main = mainKind(number, seed, kinds);
  const { listener } = main;
  const known = number < 2;
  const client = known ? clients[0] : pick(clients, random);
  const isCut = !known && random() < 0.5;
  const others = kinds.filter((kind) => kind.listener === listener);
  const few = Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(others, random));
  const mixed = !known && random() < 0.5 ? [main, ...few] : [main];
  const reads = client === 'reads all late' || client === 'reads half and stops';
  const most = Math.floor(
    bytesMax / Math.max(...mixed.map((kind) => weightOf(kind, reads, sizeOf))),
  );
  const wanted = Math.round(depths.from * (depths.to / depths.from) ** random());
  const depth = known ? 200 : Math.min(wanted, Math.max(most, depths.from));
  const requests = Array.from({ length: depth }, () => pick(mixed, random));
  if (!known && random() < 0.3) insert(requests, pick(odd[listener], random), random);
  if (!known && random() < 0.1) requests.push(halfBody[listener]);
  const what = [...new Set(requests.map(({ name }) => name))].join(' + ');
  const text = `${requests.length} × ${what}; ${client}${isCut ? '; cut into pieces' : ''}`;
  return { listener, requests, client, isCut, random, text: `${number}. ${listener}: ${text}` };
}

function mainKind(number: number, seed: number, kinds: readonly Kind[]): Kind {
  if (number === 0) return kinds.find(({ name }) => /openapi.json with no b/.test(name))!;
  if (number === 1) return longConversation;
  const random = seeded(seed);
  const order = kinds
    .map((kind) => ({ kind, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ kind }) => kind);
  // Every second one goes to the webhook, which has fewer kinds.
  const listener = number % 2 === 0 ? 'admin' : 'webhook';
  const those = order.filter((kind) => kind.listener === listener);
  return those[(number >> 1) % those.length]!;
}

/** The bytes of one request that svc reads, or those of its answer that the client reads. */
function weightOf(kind: Kind, reads: boolean, sizeOf: (kind: Kind) => number): number {
  return Math.max(kind.make('').bytes.length, reads ? sizeOf(kind) : 0);
}

/** In the middle. A wrong length may swallow a head, so no HEAD request may follow it. */
function insert(requests: Kind[], one: Kind, random: () => number): void {
  const at = Math.floor(random() * requests.length);
  requests.splice(at, 0, one);
  if (!one.ends) return;
  const behind = requests.splice(at + 1);
  requests.push(...behind.filter(({ method }) => method !== 'HEAD'));
}

export function pick<T>(list: readonly T[], random: () => number): T {
  return list[Math.floor(random() * list.length)]!;
}

/** Cuts at random places, one of them inside the empty line of a head. */
export function piecesOf(bytes: Buffer, random: () => number): readonly Buffer[] {
  const anywhere = (): number => 1 + Math.floor(random() * (bytes.length - 1));
  const line = bytes.indexOf('\r\n\r\n', anywhere());
  const inLine = line < 0 ? [] : [line + 1 + Math.floor(random() * 3)];
  const cuts = [...inLine, ...Array.from({ length: Math.floor(random() * 30) }, anywhere)];
  const places = [...new Set([0, ...cuts])].toSorted((a, b) => a - b);
  return places.map((place, i) => bytes.subarray(place, places[i + 1]));
}
