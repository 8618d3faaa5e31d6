/** The running program with an agent whose model makes the calls in a test's messages. */
import { randomUUID } from 'node:crypto';
import { asks, bodyOf, lastOf, stage, wires } from './stage.ts';
import type { ModelCall, Step } from '../fake/model-server.ts';
import { post } from '../support/program.ts';

export interface CagedAgent extends AsyncDisposable {
  /**
   * Sends a message for which the model makes that call; many at the same time.
   * @param message more fields of the message
   * @returns the tool's result for the model
   */
  call(tool: string, args: unknown, message?: Readonly<Record<string, unknown>>): Promise<string>;
}

/** First the call in the message, then an answer. */
export function obey(call: ModelCall): Step {
  const { role, content } = lastOf(call);
  if (role !== 'user') return { answer: 'That was it.' };
  const { tool, args } = JSON.parse(content.split('\n')[0]!) as { tool: string; args: unknown };
  return asks(tool, args);
}

/** @param more see `stage` in test/agents/stage.ts */
export async function startCagedAgent(
  agent: object,
  more: Parameters<typeof stage>[3],
): Promise<CagedAgent> {
  const scene = await stage(wires[0]!, agent, obey, more);
  const { model, receiver, url } = scene;
  return {
    async call(tool, args, message = {}) {
      const id = randomUUID();
      const text = JSON.stringify({ id, tool, args });
      const { status } = await post(url, { sender_id: id, text, ...message });
      if (status !== 200) throw new Error(`the message was answered with ${status}`);
      while (!receiver.received.some(({ body }) => body['conversation_id'] === id)) {
        await receiver.waitFor(receiver.received.length + 1);
      }
      const told = model.calls.find((call) => {
        const asking = bodyOf(call).messages.find(({ role }) => role === 'user');
        return asking?.content.includes(id) === true && lastOf(call).role === 'tool';
      });
      return told === undefined ? '(the call was not made)' : lastOf(told).content;
    },
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}
