/** How long it takes until others work the conversations of one that is gone. */
import type { FakeModel } from '../../fake/model-server.ts';
import type { Fleet } from './fleet.ts';
import type { Instance } from './instance.ts';
import { until } from '../../support/waiting.ts';

/** How many conversations of it must have something in hand. */
const queuesMin = 2;

/**
 * Ends one that works conversations, all else being calm, and holds its next start back.
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

/** @param queued how many messages of a conversation must be there, the one at work included */
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
