/** What is said to a svc whose database is kept, and what its model makes of it. */
import type { ModelCall, Script, Step } from '../fake/model-server.ts';

export const webhook = 'webhook';
export const messenger = 'messenger_a';

/** What a later svc finds in the database of a release. */
export type Expected = {
  readonly version: string;
  /** Of each form. */
  readonly schema: { readonly sqlite: number; readonly postgres: number };
  /** Of all that was accepted. */
  readonly messages: number;
  /** Conversations that ended turns: what was said and what was answered, oldest first. */
  readonly history: readonly {
    readonly channel: string;
    readonly conversation: string;
    readonly sessions: number;
    readonly turns: readonly (readonly [said: string, answered: string])[];
  }[];
  /** Accepted and not answered, in order of their arrival. */
  readonly waiting: readonly Line[];
  /** Replies that were tried once, and are to be tried again. */
  readonly due: readonly Line[];
  /** The same, which hold up no later reply of their conversation. */
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
/** Who is paired, on the messenger. */
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

/** All that a model was shown. */
export const shownTo = ({ body }: ModelCall): Body['messages'] => (body as Body).messages;

/**
 * A model that takes a note where it is told to.
 * @param hung what gets no answer
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
