/**
 * Orders that people ask for. Each call of the tool carries its order's number and the count of the
 * model's changes, so every record of the call can be matched to it.
 */
import type { ModelCall, Step } from '../../fake/model-server.ts';

/** The key of one call: the order's number, `.`, and 1, or 2 for the changed call. */
export type OrderKey = `${number}.${number}`;

/** The call that a text is about; null: none. */
export function keyOf(text: string): OrderKey | null {
  const found = /"order":(\d+),"take":(\d)/.exec(text) ?? /^told (\d+)\.(\d):/.exec(text);
  return found === null ? null : `${Number(found[1])}.${Number(found[2])}`;
}

type Line = {
  readonly role: string;
  readonly content: string;
  readonly tool_calls?: readonly { readonly function: { readonly arguments: unknown } }[];
};

/**
 * A model that wants to pay a person's order, and repeats the result to the person. After the yes
 * to an order that `changes` it wants another call, to which nobody has said yes.
 */
export function payerAt(host: string, changes: (order: number) => boolean) {
  const pay = (order: number, take: number): Step => {
    const given = { url: `http://${host}/pay`, body: { order, take } };
    return { answer: '', calls: [{ name: 'webhook_call', arguments: given }] };
  };
  return ({ body }: Pick<ModelCall, 'body'>): Step => {
    const { messages } = body as { messages: readonly Line[] };
    const last = messages.at(-1)!;
    // The result of an approved call comes as a sentence.
    const followed = /^This call was made: .*$/m.exec(last.content)?.[0];
    if (last.role !== 'tool' && followed === undefined) {
      // In a group the speaker's name stands before the text.
      const order = /^(?:[^\n:]+: )?pay (\d+)$/.exec(last.content)?.[1];
      return order === undefined ? { answer: `heard ${last.content}` } : pay(Number(order), 1);
    }
    const calls = messages.findLast((line) => line.tool_calls !== undefined)?.tool_calls;
    const key = keyOf(followed ?? JSON.stringify(calls?.[0]?.function.arguments))!;
    const [order, take] = key.split('.').map(Number) as [number, number];
    const lines = last.content.slice(last.content.lastIndexOf('[data ')).split('\n');
    const result = lines[1]!;
    const isRun = !/said no|in time|cannot|not run/.test(result);
    if (take === 1 && isRun && changes(order)) return pay(order, 2);
    return { answer: `told ${key}: ${lines.slice(1, -1).join(' ')}` };
  };
}
