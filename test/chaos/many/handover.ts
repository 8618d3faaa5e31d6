/** Measures the time until others work the conversations of a svc that ended. */
import type { FakeModel } from '../../fake/model-server.ts';
import type { Fleet } from './fleet.ts';
import type { Instance } from './instance.ts';
import { until } from '../../support/waiting.ts';

/** The least number of its conversations with work in hand. */
const queuesMin = 2;

/**
 * Ends a svc that works conversations, while nothing else goes wrong, and delays its next start.
 * @param end SIGKILL, or SIGTERM
 * @returns milliseconds from the signal until a model was asked for the last of them
 */
export async function handover(
  fleet: Fleet,
  model: FakeModel,
  end: 'kill' | 'terminate',
): Promise<number> {
  await fleet.untilUp();
  await fleet.untilMayDie();
  const [one, queues] = await somebodyAtWork(fleet, end === 'kill' ? 2 : 3);
  const goOn = one.hold();
  const asked = model.calls.length;
  const beganAt = performance.now();
  const ending = one[end]();
  const left = new Set(queues);
  let lastAt = beganAt;
  let looked = asked;
  await until(`others work ${queues.length} conversations of ${one.name}`, () => {
    for (; looked < model.calls.length; looked++) {
      if (left.delete(conversationOf(model.calls[looked]!.body))) lastAt = performance.now();
    }
    return left.size === 0;
  });
  goOn();
  await ending;
  return Math.round(lastAt - beganAt);
}

/** @param queued the least number of a conversation's messages, the one at work included */
async function somebodyAtWork(
  fleet: Fleet,
  queued: number,
): Promise<[Instance, readonly string[]]> {
  let tried = 0;
  return until('somebody works on something', async () => {
    const one = fleet.instances[tried++ % fleet.instances.length]!;
    const id = await fleet.rows.instanceOf(one.pid);
    const queues = id === null ? new Map<string, number>() : await fleet.rows.queuesOf(id);
    const some = [...queues].flatMap(([queue, n]) => (n >= queued ? [queue] : []));
    return some.length >= queuesMin ? ([one, some] as [Instance, readonly string[]]) : null;
  });
}

function conversationOf(body: unknown): string {
  const { messages } = body as { readonly messages: readonly { readonly content: string }[] };
  return messages.at(-1)!.content.split(' ')[0]!;
}
