/** The messages to a svc whose database is kept, and the answers of its model. */
import type { ModelCall, Script, Step } from '../fake/model-server.ts';

export const webhook = 'webhook';
export const messenger = 'messenger_a';

/** The data that a later svc finds in the database of a release. */
export type Expected = {
  readonly version: string;
  /** The schema's version of each backend. */
  readonly schema: { readonly sqlite: number; readonly postgres: number };
  /** The number of all accepted messages. */
  readonly messages: number;
  /** Conversations with ended turns: each text and its answer, oldest first. */
  readonly history: readonly {
    readonly channel: string;
    readonly conversation: string;
    readonly sessions: number;
    readonly turns: readonly (readonly [said: string, answered: string])[];
  }[];
  /** Accepted messages without an answer, in order of their arrival. */
  readonly waiting: readonly Line[];
  /** Replies that were tried once, and wait for a retry. */
  readonly due: readonly Line[];
  /** Such replies that are parked: they hold up no later reply of their conversation. */
  readonly parked: readonly Line[];
  readonly deadLetters: readonly (Line & { readonly reason: string })[];
  readonly notes: readonly Line[];
  readonly toolUses: readonly { readonly conversation: string; readonly tool: string }[];
  readonly paired: readonly { readonly sender: string; readonly name: string }[];
};

export type Line = { readonly conversation: string; readonly text: string };

export const answerTo = (text: string): string => `You said: ${text}`;
export const noted = 'It is noted.';
export const note = 'Ada drinks her tea without milk.';
/** The name of the paired person, on the messenger. */
export const pairedName = 'Tom';

export const said = {
  ada: [`Note: ${note}`, 'When do you close?'],
  bob: ['My invoice is number 4711.', 'Is there anything else?'],
  tom: ['Let me in.', 'Good morning.'],
  eve: ['Call me back.'],
  fay: ['I am moving house.'],
  dee: ['Is it ready?'],
  cy: ['Are you there?', 'Hello?'],
} as const;

type Body = {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
};

/** Returns all messages that a model got. */
export const shownTo = ({ body }: ModelCall): Body['messages'] => (body as Body).messages;

/**
 * A model that takes a note when a message asks for one.
 * @param hung texts without an answer
 */
export function model(hung: readonly string[] = []): Script {
  return (call): Step => {
    const { role, content } = shownTo(call).at(-1)!;
    if (role === 'tool') return { answer: noted };
    if (hung.includes(content)) return { answer: '', after: new Promise(() => {}) };
    const wanted = /^Note: (.*)$/.exec(content)?.[1];
    if (wanted === undefined) return { answer: answerTo(content) };
    return { answer: '', calls: [{ name: 'memory_note', arguments: { note: wanted } }] };
  };
}
