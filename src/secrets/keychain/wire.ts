/**
 * The messages between svc and the helper: one line of JSON each. The question goes to the helper's
 * standard input, and answers come from its file descriptor 3. Only these lines contain values.
 */
import { keychainStates, type KeychainState } from '../../domain/keychain-state.ts';

export type Question =
  /** Which names the store has, and whether it is locked. Opens no prompt and reads no value. */
  | { readonly ask: 'look'; readonly names: readonly string[] }
  | { readonly ask: 'read'; readonly names: readonly string[]; readonly canPrompt: boolean }
  | {
      readonly ask: 'set';
      readonly name: string;
      readonly value: string;
      readonly canPrompt: boolean;
    }
  | { readonly ask: 'delete'; readonly name: string; readonly canPrompt: boolean };

/** The reason of a fault, if the state alone does not explain it. */
export const reasons = ['no_library', 'not_kept', 'no_keyring'] as const;
export type Reason = (typeof reasons)[number];

export type HelperFault = {
  readonly kind: 'fault';
  readonly state: Exclude<KeychainState, 'ready'>;
  readonly reason: Reason | null;
};

/** A sign before the answer: the helper has begun, or a prompt may be open from now on. */
export type Sign = { readonly kind: 'begun' } | { readonly kind: 'prompting' };

export type Answer =
  | { readonly kind: 'seen'; readonly names: readonly string[]; readonly locked: boolean }
  | { readonly kind: 'values'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'done' }
  | { readonly kind: 'absent' }
  | HelperFault;

export function helperFault(state: HelperFault['state'], reason: Reason | null = null) {
  return { kind: 'fault', state, reason } as const satisfies HelperFault;
}

/** @returns null when the line is no question */
export function parseQuestion(line: string): Question | null {
  const fields = objectOf(line);
  const { ask, name, value, canPrompt = false } = fields ?? {};
  if (typeof canPrompt !== 'boolean') return null;
  if (ask === 'look' || ask === 'read') {
    const names = stringsOf(fields?.['names']);
    if (names === null) return null;
    return ask === 'look' ? { ask, names } : { ask, names, canPrompt };
  }
  if (typeof name !== 'string') return null;
  if (ask === 'delete') return { ask, name, canPrompt };
  if (ask === 'set' && typeof value === 'string') return { ask, name, value, canPrompt };
  return null;
}

/** @returns null when the line is no answer */
export function parseAnswer(line: string): Answer | Sign | null {
  const fields = objectOf(line);
  switch (fields?.['kind']) {
    case 'begun':
    case 'prompting':
    case 'done':
    case 'absent':
      return { kind: fields['kind'] };
    case 'seen': {
      const names = stringsOf(fields['names']);
      return names === null ? null : { kind: 'seen', names, locked: fields['locked'] === true };
    }
    case 'values':
      return valuesOf(fields['values']);
    case 'fault':
      return faultOf(fields);
    default:
      return null;
  }
}

function valuesOf(values: unknown): Answer | null {
  if (typeof values !== 'object' || values === null) return null;
  const entries = Object.entries(values);
  if (!entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')) {
    return null;
  }
  return { kind: 'values', values: Object.fromEntries(entries) };
}

function faultOf(fields: Readonly<Record<string, unknown>>): HelperFault | null {
  const state = keychainStates.find((known) => known === fields['state']);
  if (state === undefined || state === 'ready') return null;
  const reason = reasons.find((known) => known === fields['reason']) ?? null;
  return helperFault(state, reason);
}

function objectOf(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

function stringsOf(value: unknown): readonly string[] | null {
  if (!Array.isArray(value)) return null;
  return value.every((one) => typeof one === 'string') ? value : null;
}
