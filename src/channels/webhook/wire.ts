/**
 * The webhook's JSON: a request body becomes a message, and a reply becomes a request body.
 *
 * An id is a string or a whole number. Its text form names the conversation, so 42 and "42" are the
 * same one. Its JSON text is the `target`, so a reply carries the id in its original type. A number
 * up to 2⁵³ − 1 is an integer by its value, in any notation (1.0 and 1e3 are 1 and 1000). Beyond
 * that svc keeps the digits as written, and refuses anything but plain digits.
 */
import type { Mapping, MessageField } from '../../config/config.ts';
import { faultOfGivenId, type ConversationId } from '../../domain/ids.ts';
import type { Media, Sender } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';

export type WireMessage = {
  readonly kind: 'message';
  readonly conversation: ConversationId;
  /** The conversation id as JSON text. */
  readonly target: string;
  readonly sender: Sender;
  readonly text: string;
  readonly media: Media | null;
};

export type WireProblem = {
  readonly kind: 'problem';
  readonly code: 'invalid_json' | 'invalid_field' | 'missing_sender' | 'missing_content';
  readonly detail: string;
};

type Body = Readonly<Record<string, unknown>>;
type Id = { readonly text: string; readonly json: string };

/** Reads a request's body. Empty strings and null count as absent; unknown keys are ignored. */
export function parseInbound(json: string, mapping: Mapping): WireMessage | WireProblem {
  let body: unknown;
  try {
    body = JSON.parse(json);
  } catch {
    return problem('invalid_json', 'The body is not valid JSON.');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return problem('invalid_json', 'The body must be a JSON object.');
  }
  const fields = new Fields(json, body as Body, mapping);
  const sender = fields.id('sender_id');
  const conversation = fields.id('conversation_id') ?? sender;
  const name = fields.string('sender_name');
  const text = fields.string('text');
  const reference = fields.string('media_url');
  const type = fields.string('media_type');
  if (fields.problem !== null) return fields.problem;
  if (sender === null || conversation === null) {
    return problem('missing_sender', `${fields.nameOf('sender_id')} is missing: who sends this?`);
  }
  if (text === null && reference === null) {
    const textName = fields.nameOf('text');
    const mediaName = fields.nameOf('media_url');
    return problem('missing_content', `There is no content: give ${textName} or ${mediaName}.`);
  }
  return {
    kind: 'message',
    conversation: conversation.text as ConversationId,
    target: conversation.json,
    sender: { id: sender.text, name },
    text: text ?? '',
    media: reference === null ? null : { type, reference },
  };
}

/** The message fields of one body. A bad field is null; `problem` holds the first fault. */
class Fields {
  problem: WireProblem | null = null;
  readonly #json: string;
  readonly #body: Body;
  readonly #mapping: Mapping;

  constructor(json: string, body: Body, mapping: Mapping) {
    this.#json = json;
    this.#body = body;
    this.#mapping = mapping;
  }

  /** The field's name for the sender: its JSON key, and svc's own name if that differs. */
  nameOf(field: MessageField): string {
    const key = this.#mapping[field];
    return key === field ? `"${key}"` : `"${key}" (${field})`;
  }

  string(field: MessageField): string | null {
    const value = this.#read(field);
    if (value === null || value === '') return null;
    if (typeof value === 'string') return value;
    return this.#refuse(field, 'must be a string');
  }

  id(field: MessageField): Id | null {
    const value = this.#read(field);
    if (value === null || value === '') return null;
    if (typeof value === 'number') return this.#number(field, value);
    if (typeof value !== 'string') return this.#refuse(field, 'must be a string or an integer');
    const fault = faultOfGivenId(value);
    if (fault !== null) return this.#refuse(field, fault);
    return { text: value, json: JSON.stringify(value) };
  }

  #number(field: MessageField, value: number): Id | null {
    if (Number.isSafeInteger(value)) return { text: String(value), json: String(value) };
    const digits = Number.isInteger(value) || !Number.isFinite(value) ? this.#source(field) : '';
    if (!/^-?[0-9]+$/.test(digits)) {
      return this.#refuse(field, 'must be a string or an integer');
    }
    const fault = faultOfGivenId(digits);
    if (fault !== null) return this.#refuse(field, fault);
    return { text: digits, json: digits };
  }

  /**
   * A number as written in the body. A second parse finds it, since no JavaScript number can hold
   * it.
   */
  #source(field: MessageField): string {
    const key = this.#mapping[field];
    const sources = new Map<unknown, string>();
    const note = function (this: unknown, at: string, value: unknown, context?: Context): unknown {
      if (at === key && typeof value === 'number') sources.set(this, context?.source ?? '');
      return value;
    };
    try {
      const body: unknown = JSON.parse(this.#json, note);
      return sources.get(body) ?? '';
    } catch {
      return '';
    }
  }

  #read(field: MessageField): unknown {
    const key = this.#mapping[field];
    return Object.hasOwn(this.#body, key) ? this.#body[key] : null;
  }

  #refuse(field: MessageField, what: string): null {
    this.problem ??= problem('invalid_field', `${this.nameOf(field)} ${what}.`);
    return null;
  }
}

type Context = { readonly source?: string };

function problem(code: WireProblem['code'], detail: string): WireProblem {
  return { kind: 'problem', code, detail };
}

/** @returns a function that gives the JSON text of a reply's body, the same for every attempt */
export function createReplyWriter(mapping: Mapping): (reply: Reply) => string {
  // Successive replies often share the brain and the millisecond.
  const name = memoizeLast((brain: string) => JSON.stringify(brain));
  const time = memoizeLast((ms: number) => `"${new Date(ms).toISOString()}"`);
  const values: readonly (readonly [string, (reply: Reply) => string])[] = [
    [mapping.conversation_id, (reply) => reply.address.target],
    [mapping.text, (reply) => JSON.stringify(reply.text)],
    [mapping.sender_id, (reply) => name(reply.brain)],
    [mapping.sender_name, (reply) => name(reply.brain)],
    ['conversation_id', (reply) => reply.address.target],
    ['text', (reply) => JSON.stringify(reply.text)],
    ['message_id', (reply) => `"${reply.id}"`],
    ['in_reply_to', (reply) => `"${reply.inReplyTo}"`],
    ['created_at', (reply) => time(reply.createdAt)],
    ['session_started', (reply) => `"${reply.sessionStarted}"`],
  ];
  const mapped = new Set(Object.values(mapping));
  const usedKeys = new Set<string>();
  const parts: (readonly [string, string, (reply: Reply) => string])[] = [];
  for (const [index, [key, write]] of values.entries()) {
    // The first four keys come from the mapping. If two fields share a key, the first one fills it.
    if (usedKeys.has(key) || (index >= 4 && mapped.has(key))) continue;
    usedKeys.add(key);
    parts.push([key, `${JSON.stringify(key)}:`, write]);
  }
  const startsSession = !mapped.has('session_started');
  const hasChoices = !mapped.has('choices');
  return (reply) => {
    let text = '';
    for (const [key, label, write] of parts) {
      const absent = key === 'session_started' && startsSession && reply.sessionStarted === null;
      if (!absent) text += `${text === '' ? '{' : ','}${label}${write(reply)}`;
    }
    if (hasChoices && reply.choices !== undefined && reply.choices.length > 0) {
      const choices = reply.choices.map(({ label, says }) => ({ label, says }));
      text += `,"choices":${JSON.stringify(choices)}`;
    }
    return `${text}}`;
  };
}

/** Remembers the last result of a function. */
function memoizeLast<K>(make: (key: K) => string): (key: K) => string {
  let last: K | undefined;
  let text = '';
  return (key) => {
    if (key !== last) {
      text = make(key);
      last = key;
    }
    return text;
  };
}
