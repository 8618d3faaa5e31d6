/** The arguments of a call: as its model wrote them, as the tool reads them, as they are kept. */
import { canonicalJson } from '../../lib/canonical-json.ts';
import { nodeCrypto } from '../../lib/node-crypto.ts';
import type { AskedCall, Tool } from './tool.ts';

const argumentsLengthMax = 65_536;
const argumentsLengthKept = 2_000;

export type Arguments = Readonly<Record<string, unknown>>;

/**
 * Arguments come as an object or as its JSON text; for none, some models write null. Where one
 * parameter is missing and one text was given, bare or under another name, the text is that one.
 * Null: nothing of the kind.
 */
export function argumentsOf(tool: Tool, given: unknown): Arguments | null {
  const value = (typeof given === 'string' ? parsed(given) : given) ?? {};
  const { required } = tool.parameters;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const read = value as Arguments;
    const [only, ...more] = missingIn(tool, read);
    if (only === undefined || more.length > 0) return read;
    const texts = Object.entries(read).filter(
      ([name, text]) =>
        typeof text === 'string' && !Object.hasOwn(tool.parameters.properties, name),
    );
    return texts.length === 1 ? { ...read, [only]: texts[0]![1] } : read;
  }
  if (required.length !== 1 || typeof value !== 'string') return null;
  // A text that begins as JSON and is none was cut or garbled: nobody knows what it should be.
  const garbled = value === given && /^\s*[{[]/.test(value);
  return garbled ? null : { [required[0]!]: value };
}

export function missingIn({ parameters }: Tool, read: Arguments): readonly string[] {
  return parameters.required.filter((name) => !Object.hasOwn(read, name));
}

/** A text that is no JSON is itself. */
function parsed(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The arguments as text; null: they are too long or too deep to be looked into. An object is
 * written, a text is as the model wrote it.
 */
export function writtenArguments({ arguments: given }: AskedCall): string | null {
  try {
    const text = typeof given === 'string' ? given : (JSON.stringify(given) ?? '');
    return text.length <= argumentsLengthMax ? text : null;
  } catch {
    return null;
  }
}

/** @param name of a tool that is not listed: only readers of the arguments may see it */
export function shortened(written: string, name: string | null): string {
  const text = name === null ? written : `${name} ${written}`;
  return text.length <= argumentsLengthKept ? text : `${text.slice(0, argumentsLengthKept)}…`;
}

/** What is read, as one text, whatever the order of its names; null: it is too deep. */
export function canonicalArguments(read: Arguments): string | null {
  return canonicalJson(read);
}

/** Whether it is taken again as it was written down. */
export function isTakenAgain(canonical: string): boolean {
  return canonical.length <= argumentsLengthMax;
}

/** Names a call by its canonical arguments. */
export function hashOf({ name }: Tool, canonical: string): string {
  const text = `[${JSON.stringify(name)},${canonical}]`;
  return nodeCrypto().createHash('sha256').update(text).digest('base64');
}
