/** Conversations that go on while instances of svc come and go. */
import assert from 'node:assert/strict';
import type { Receiver } from '../fake/receiver.ts';
import { post } from '../support/program.ts';
import { until } from '../support/waiting.ts';

export const conversations = ['ada', 'bob', 'cleo', 'dan', 'eve', 'fay'];

/** The replies of that conversation, in order of arrival. */
function repliesOf(receiver: Receiver, conversation: string): readonly string[] {
  const own = receiver.received.filter(({ body }) => body['conversation_id'] === conversation);
  return own.map(({ body }) => String(body['text']));
}

/** The largest number of unanswered messages in a conversation. */
const unansweredMax = 3;

/**
 * Sends messages one after the other, each after the acceptance of the one before, until stopped.
 * @returns the sent texts
 */
export async function converse(
  url: string,
  conversation: string,
  receiver: Receiver,
  over: AbortSignal,
): Promise<readonly string[]> {
  const said: string[] = [];
  while (!over.aborted) {
    const text = `${conversation} ${said.length}`;
    const headers = { 'webhook-id': text };
    const answer = await post(url, { sender_id: conversation, text }, headers);
    assert.equal(answer.status, 200, `${text}: ${JSON.stringify(answer.body)}`);
    said.push(text);
    const isAnswered = (): boolean =>
      said.length - repliesOf(receiver, conversation).length <= unansweredMax;
    await until(`a reply in ${conversation}`, isAnswered);
  }
  return said;
}

/** Asserts one reply to each text of each conversation, in order. The model says `to <text>`. */
export function assertAnswered(receiver: Receiver, said: readonly (readonly string[])[]): void {
  for (const [index, conversation] of conversations.entries()) {
    const expected = said[index]!.map((text) => `to ${text}`);
    assert.deepEqual(repliesOf(receiver, conversation), expected);
  }
}
