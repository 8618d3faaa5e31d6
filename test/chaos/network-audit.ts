/** Rules for the replies and for the calls to models, whatever went wrong on the way. */
import assert from 'node:assert/strict';
import { sentences } from '../../src/pipeline/sentences.ts';
import { lastOf } from '../agents/stage.ts';
import type { NetworkFault } from '../fake/fault-proxy.ts';
import type { ModelCall } from '../fake/model-server.ts';
import type { Received } from '../fake/receiver.ts';

export const links = {
  sender: 'sender → webhook',
  local: 'svc → local model',
  hosted: 'svc → hosted model',
  receiver: 'svc → receiver',
  admin: 'admin client → svc',
} as const;
export type Link = keyof typeof links;

/** A message with a 200, and the id of that answer. `late`: sent after the fault. */
export type Said = { readonly id: string; readonly text: string; readonly late: boolean };

export type Turns = {
  readonly link: Link;
  readonly fault: NetworkFault;
  /** By conversation, in order. */
  readonly said: ReadonlyMap<string, readonly Said[]>;
  readonly received: readonly Received[];
  /** The calls that arrived whole, by model. */
  readonly models: readonly (readonly ModelCall[])[];
};

/** The default number of retries after a passing failure of a model. */
const retriesMax = 2;

/** One reply each, in the conversation's order; repeats are marked; no turn ran twice. */
export function checkTurns(turns: Turns): void {
  const { said, received } = turns;
  const ofId = Map.groupBy(received, ({ body }) => String(body['in_reply_to']));
  const count = [...said.values()].flat().length;
  assert.equal(ofId.size, count, 'there are replies to what was said, and no other');
  for (const tries of ofId.values()) checkRepeats(tries.toSorted(byAttempt));
  for (const [conversation, own] of said) {
    const replies = received.filter(({ body }) => body['conversation_id'] === conversation);
    const order = new Set(replies.map(({ body }) => body['in_reply_to']));
    assert.deepEqual(
      [...order],
      own.map(({ id }) => id),
    );
    for (const one of own) checkText(turns.link, ofId.get(one.id)![0]!, one);
  }
  checkCalls(turns);
}

/** A busy receiver may read the second attempt first. */
const byAttempt = (one: Received, other: Received): number =>
  Number(one.headers['svc-attempt']) - Number(other.headers['svc-attempt']);

/** Every repeat has its reply's id, a higher number, the text of the first, and its mark. */
function checkRepeats([first, ...again]: readonly Received[]): void {
  let attempt = Number(first!.headers['svc-attempt']);
  for (const { headers, body } of again) {
    assert.equal(headers['webhook-id'], first!.headers['webhook-id']);
    assert.equal(body['text'], first!.body['text']);
    assert.equal(headers['svc-possible-duplicate'], 'true');
    assert.ok(Number(headers['svc-attempt']) > attempt, 'a repeat has a higher svc-attempt');
    attempt = Number(headers['svc-attempt']);
  }
}

/** Only a sender whose one model is out of reach gets an excuse; of two, the other one answers. */
function checkText(link: Link, { body }: Received, { text, late }: Said): void {
  const answer = String(body['text']);
  const may = [`first: ${text}`];
  if (link === 'hosted') may.push(`second: ${text}`);
  if (link === 'local' && !late) may.push(sentences.busy, sentences.no_answer);
  assert.ok(may.includes(answer), `${text} was answered with: ${answer}`);
}

/** A model is asked once for a message, and again only after a fault of its own link. */
function checkCalls({ link, fault, models }: Turns): void {
  const isModel = link === 'local' || link === 'hosted';
  for (const calls of models) {
    for (const [text, asked] of Map.groupBy(calls, lastLine)) {
      const most = isModel ? 1 + retriesMax : 1;
      assert.ok(asked.length <= most, `${asked.length} calls for ${text}`);
    }
  }
  const failsOver = fault !== 'delay' && fault !== 'drip';
  if (link === 'hosted' && failsOver) assert.ok(models[1]!.length > 0, 'the second was asked');
}

/** The last message; an unanswered message may stand before it in the same turn. */
export function lastLine(call: ModelCall): string {
  return lastOf(call).content.split('\n\n').at(-1)!;
}
