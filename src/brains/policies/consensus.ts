/** The consensus policy, and the key by which it compares answers. */
import type { ModelName } from '../../domain/ids.ts';
import type { Outcome } from '../../domain/outcome.ts';
import { canonicalJson, parseJson } from '../../lib/json.ts';
import type { Policy, Slot, Verdict, Votes } from './policy.ts';
import { withoutThinkBlock } from '../../domain/think-block.ts';
import { MarkupStripper, normalized, withoutTrailingZeros } from './normalized-text.ts';

/**
 * The reply is the answer on which more than half of the answering models agree, and at least two.
 * The decision comes early in two cases: more than half of all models already agree, or the missing
 * answers cannot make a majority any more.
 */
export function createConsensus(): Policy {
  return { kind: 'consensus', judge };
}

/** Answers that agree. `first`: the slot of the best-ranked one. */
type Group = { readonly first: number; readonly models: ModelName[] };

function judge(slots: readonly Slot[]): Verdict {
  const groups = new Map<string, Group>();
  let answers = 0;
  let pending = 0;
  for (let at = 0; at < slots.length; at++) {
    const { model, outcome } = slots[at]!;
    if (outcome === null) pending++;
    if (outcome?.kind !== 'answer') continue;
    answers++;
    const key = answerKey(outcome);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: at, models: [model] });
    else group.models.push(model);
  }
  const largestFirst = [...groups.values()].sort((a, b) => b.models.length - a.models.length);
  const votes: Votes = largestFirst.map((group) => group.models);
  const top = largestFirst[0];
  const most = top?.models.length ?? 0;
  const needed = pending === 0 ? answers : slots.length;
  if (top !== undefined && most >= 2 && 2 * most > needed) {
    const of = pending === 0 ? `${answers} answers` : `${slots.length} models`;
    return { kind: 'reply', slot: top.first, why: `${most} of ${of} agree`, votes };
  }
  const open = answers < 2 || 2 * most + pending > answers;
  if (pending > 0 && open) return { kind: 'wait', fallback: null };
  return none(answers, most, votes);
}

/** The text and the calls of an answer. Calls agree if they have the same names and arguments. */
function answerKey({ text, calls }: Extract<Outcome, { kind: 'answer' }>): string {
  const key = consensusKey(text);
  if (calls.length === 0) return key;
  const compared = calls.map(({ name, arguments: args }) => [
    name,
    typeof args === 'string' ? (parseJson(args) ?? args) : args,
  ]);
  return `${key}\n${canonicalJson(compared)}`;
}

function none(answers: number, most: number, votes: Votes): Verdict {
  if (answers === 0) return { kind: 'none', reason: 'no_answer', why: 'no model answered', votes };
  const why =
    answers === 1
      ? 'only one model answered, which is no consensus'
      : `at most ${most} of ${answers} answers agree`;
  return { kind: 'none', reason: 'no_consensus', why, votes };
}

/**
 * The consensus key of an answer: two answers agree when their keys are equal. Equality is the only
 * comparison, so agreement is an equivalence. The key does not measure closeness of meaning.
 *
 * The key ignores the formatting of an answer:
 *
 * - case, emphasis, a code fence, and the form of quotes, dashes and spaces
 * - an "answer:" before it, and punctuation after it
 * - trailing zeros of a fraction, and the layout of a JSON value
 *
 * It keeps everything that can carry meaning: "-5" is not
 * "5", "50%" is not "50", "C#" is not "C".
 *
 * The function is linear in the length of the text, and idempotent: the key of a key is that key.
 * A longer text than this is its own key. Models would not agree on it, and its normalization would
 * block the event loop.
 */
export const normalizedCharactersMax = 20_000;

export function consensusKey(text: string): string {
  return text.length > normalizedCharactersMax ? text : uncappedConsensusKey(text);
}

/** The consensus key of a text of any length. */
export function uncappedConsensusKey(text: string): string {
  const bare = withoutFence(withoutThinkBlock(text).trim());
  const json = canonicalAnswer(bare);
  if (json !== null) return json;
  // The normalization may reveal a think block that was hidden before.
  const plain = withoutThinkBlock(normalized(bare)).trim();
  const stripper = new MarkupStripper(plain);
  const unmarked = stripper.peel('marks');
  const inner = canonicalAnswer(unmarked);
  if (inner !== null) return inner;
  const core = stripper.peel('marks and lists');
  return canonicalAnswer(core) ?? (core === '' ? plain : core);
}

/** The inside of a single code fence around the whole text, or the text itself. */
function withoutFence(text: string): string {
  if (!text.startsWith('```') || !text.endsWith('```')) return text;
  const start = text.indexOf('\n') + 1;
  const end = text.length - 3;
  if (start === 0 || start > end || text.indexOf('```', 3) !== end) return text;
  return text.slice(start, end).trim();
}

const depthMax = 64;

/** The type in TypeScript's library. It lacks the third argument, which has a value's source. */
type Reviver = (key: string, value: unknown) => unknown;

/**
 * The normal form of a JSON object or array: sorted keys, no layout, normalized strings and
 * numbers.
 * @returns null if the text is no such value, or nests deeper than 64
 */
function canonicalAnswer(text: string): string | null {
  if (!/^[[{]/.test(text) || !/[\]}]$/.test(text) || depthOf(text) > depthMax) return null;
  try {
    return canonicalForm(JSON.parse(text, keepNumber as Reviver));
  } catch {
    return null;
  }
}

/** A number as its digits, because the value of JSON.parse can have fewer digits. */
class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

function keepNumber(_key: string, value: unknown, context: { source?: string }): unknown {
  return typeof value === 'number' ? new Digits(context.source ?? String(value)) : value;
}

function canonicalForm(value: unknown): string {
  if (value instanceof Digits) return canonicalNumber(value.text);
  if (typeof value === 'string') return JSON.stringify(normalized(value));
  if (Array.isArray(value)) return `[${value.map(canonicalForm).join(',')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const members = entries.map(([key, member]) => `${JSON.stringify(key)}:${canonicalForm(member)}`);
  return `{${members.join(',')}}`;
}

function canonicalNumber(digits: string): string {
  if (!/[eE]/.test(digits)) return digits.includes('.') ? withoutTrailingZeros(digits) : digits;
  const value = Number(digits);
  return Number.isFinite(value) && value !== 0 ? String(value) : digits.toLowerCase();
}

/** The depth of nested brackets outside of strings: an upper bound, not a parse. */
function depthOf(text: string): number {
  let depth = 0;
  let most = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') quoted = !quoted;
    else if (quoted) at += char === '\\' ? 1 : 0;
    else if (char === '[' || char === '{') most = Math.max(most, ++depth);
    else if (char === ']' || char === '}') depth--;
  }
  return most;
}
