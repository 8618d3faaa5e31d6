/**
 * Pins of MCP tools. A pin is the hash of a tool that an operator has checked. The pins are in
 * `svc.mcp.json` beside the configuration. An agent sees neither a tool without a pin nor a tool
 * that has changed since.
 *
 * Format: `{"version": 1, "servers": {<name>: {<tool>: <pin>}}}`, where a pin is
 * `{"hash", "parts", "effect"?, "pinned_at"}`. `hash` is SHA-256 in hex over canonical JSON of
 * name, description, inputSchema and annotations; the order of the values of an `enum` is of no
 * account. A pin of the same with each `enum` as the server wrote it holds, too.
 */
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from './config.ts';
import { isObject } from '../lib/json.ts';
import type { Json } from './locate.ts';
import type { ProblemList } from './problems.ts';
import { serverOf } from './rules-mcp.ts';

export type Pin = {
  readonly hash: string;
  /** The hash of each part, to show which part has changed; empty: unknown. */
  readonly parts: Readonly<Record<string, string>>;
  /** false: the operator says that a call changes nothing. */
  readonly effect: boolean;
  readonly pinnedAt: string;
};

/** A tool as a server describes it now, to compare with its pin. */
export type Fingerprint = {
  /** SHA-256 in hex over the whole definition, whatever the order of the values of an `enum`. */
  readonly hash: string;
  /** The hash of each part. */
  readonly parts: Readonly<Record<string, string>>;
  /** The same with each `enum` in the server's order: pins that svc made before it sorted them. */
  readonly inOrder: Pick<Fingerprint, 'hash' | 'parts'>;
};

/** @returns the parts that differ from the pin, if they are known; null: it is the pinned tool */
export function changesSince(
  pin: Pick<Pin, 'hash' | 'parts'>,
  { hash, parts, inOrder }: Fingerprint,
): readonly string[] | null {
  if (pin.hash === hash || pin.hash === inOrder.hash) return null;
  return Object.keys(parts).filter((name) => {
    return pin.parts[name] !== parts[name] && pin.parts[name] !== inOrder.parts[name];
  });
}

/** By server, then by the tool's own name. */
export type Pins = ReadonlyMap<string, ReadonlyMap<string, Pin>>;

export type PinsRead =
  | { readonly kind: 'pins'; readonly pins: Pins }
  | { readonly kind: 'unreadable'; readonly why: string };

const bytesMax = 1_048_576;

/** @param file the path of the configuration, absolute */
export function pinsFileBeside(file: string): string {
  return join(dirname(file), 'svc.mcp.json');
}

/** Reads the pins. A missing file has no pins. */
export async function readPins(file: string): Promise<PinsRead> {
  try {
    if ((await stat(file)).size > bytesMax) {
      return { kind: 'unreadable', why: `${file} has more than 1 MiB` };
    }
    const pins = parsePins(JSON.parse(await readFile(file, 'utf8')) as Json);
    if (pins === null) return { kind: 'unreadable', why: `${file} is no file of pins` };
    return { kind: 'pins', pins };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? null;
    if (code === 'ENOENT') return { kind: 'pins', pins: new Map() };
    const why = code === null ? `${file} is not JSON` : `${file} cannot be read (${code})`;
    return { kind: 'unreadable', why };
  }
}

function parsePins(value: Json): Pins | null {
  if (!isObject(value) || value['version'] !== 1 || !isObject(value['servers'])) return null;
  const pins = new Map<string, Map<string, Pin>>();
  for (const [server, tools] of Object.entries(value['servers'])) {
    if (!isObject(tools)) return null;
    const serverPins = new Map<string, Pin>();
    for (const [tool, pin] of Object.entries(tools)) {
      if (!isObject(pin) || typeof pin['hash'] !== 'string') return null;
      const { hash, parts, effect, pinned_at: at } = pin;
      const pinnedAt = typeof at === 'string' ? at : '';
      serverPins.set(tool, { hash, parts: partsOf(parts), effect: effect !== false, pinnedAt });
    }
    pins.set(server, serverPins);
  }
  return pins;
}

function partsOf(value: Json | undefined): Readonly<Record<string, string>> {
  const entries = isObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter(([, hash]) => typeof hash === 'string')) as Pin['parts'];
}

/** Writes the whole file or nothing. Only the user who runs svc can read it. */
export async function writePins(file: string, pins: Pins): Promise<void> {
  const servers = Object.fromEntries(
    [...pins].map(([server, tools]) => [server, Object.fromEntries([...tools].map(pinEntry))]),
  );
  const text = `${JSON.stringify({ version: 1, servers }, null, 2)}\n`;
  const tempFile = `${file}.${process.pid}.new`;
  try {
    await using handle = await open(tempFile, 'wx', 0o600);
    await handle.writeFile(text);
    await handle.sync();
    await rename(tempFile, file);
  } catch (error) {
    await rm(tempFile, { force: true });
    throw error;
  }
}

function pinEntry([tool, { hash, parts, effect, pinnedAt }]: [string, Pin]): [string, object] {
  return [tool, { hash, parts, ...(effect ? {} : { effect }), pinned_at: pinnedAt }];
}

/** Warns of every listed tool without a pin. @param file the path of the configuration, absolute */
export async function checkPins(
  config: Config,
  file: string,
  problems: ProblemList,
): Promise<void> {
  const agents = config.brains.map(({ agent }) => agent);
  if (agents.every((agent) => agent === null || agent.mcp.length === 0)) return;
  const read = await readPins(pinsFileBeside(file));
  for (const [index, agent] of agents.entries()) {
    if (agent === null || agent.mcp.length === 0) continue;
    if (read.kind === 'unreadable') {
      const remedy = 'Give svc the right to read it, or remove it and run svc mcp pin.';
      problems.add('mcp_pins_unreadable', `brains[${index}].agent.mcp`, read.why, remedy);
      continue;
    }
    for (const [at, tool] of agent.tools.entries()) {
      const server = serverOf(tool);
      if (server === null || read.pins.get(server)?.has(toolOf(tool)) === true) continue;
      const message = `${tool} is not pinned, so the agent is not told of it`;
      const remedy = 'Run svc mcp pin, which shows what the server says of it.';
      problems.add('mcp_unpinned', `brains[${index}].agent.tools[${at}]`, message, remedy);
    }
  }
}

/** The name that the server has for `mcp.<server>.<tool>`. */
export function toolOf(name: string): string {
  return name.replace(/^mcp\.[^.]+\./, '');
}
