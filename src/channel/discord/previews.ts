/**
 * A reply that is still being written, as a message that grows
 * (https://discord.com/developers/docs/resources/message#edit-message).
 */
import type { SteadyTime } from '../../lib/clock.ts';
import type { Preview, Previewed } from '../channel.ts';
import { GrowingMessage, type Made } from '../growing-message.ts';
import type { Api } from './api.ts';
import { fieldsOf, idOf, keptOff, parseTarget, textUnitsMax, toWire } from './wire.ts';

const callMs = 5_000;
/** Says that more is to come. */
const goesOn = ' …';
/** After a limit of the platform is met, nothing is shown for so long. */
const limitedMs = 10_000;

/** @returns null: the address is none of this channel's */
export function openPreview(api: Api, steady: () => SteadyTime, shown: Previewed): Preview | null {
  const target = parseTarget(shown.address.target);
  if (target === null) return null;
  const route = `/channels/${target.place}/messages` as const;
  let quietUntil = steady() as number;
  const asked = async (asking: ReturnType<Api['post']>) => {
    const result = await asking;
    if (result.kind === 'refused' && result.status === 429) quietUntil = steady() + limitedMs;
    return result;
  };
  const screen = {
    mayShow: () => steady() >= quietUntil,
    async make(text: string): Promise<Made> {
      // Its nonce is of the question: a second one within minutes is this one.
      const body = toWire({ id: shown.question, text: growing(text) }, target);
      const made = await asked(api.post(route, body, AbortSignal.timeout(callMs)));
      const id = made.kind === 'ok' ? idOf(fieldsOf(made.body)['id']) : null;
      return id === null ? { kind: 'failed' } : { kind: 'made', replaces: id };
    },
    async edit(replaces: string, text: string): Promise<boolean> {
      if (idOf(replaces) === null) return false;
      const body = { content: growing(text), ...keptOff };
      const signal = AbortSignal.timeout(callMs);
      return (await asked(api.patch(`${route}/${replaces}`, body, signal))).kind === 'ok';
    },
  };
  return new GrowingMessage(screen, shown, steady);
}

/** The beginning that a message holds; what is longer waits for the reply. */
function growing(text: string): string {
  const most = textUnitsMax - goesOn.length;
  return `${text.length > most ? text.slice(0, most).toWellFormed() : text}${goesOn}`;
}
