/**
 * Shows a reply while the brain writes it, as a message that grows by edits
 * (../messenger/growing-message.ts). The first text refers to the answered message, as the reply
 * does. Its nonce comes from the question, so a second try within minutes makes no second message.
 * By that nonce the reply finds a preview even if nobody saw whether the platform made it. Previews
 * use only requests that no reply needs.
 */
import type { Message } from '../../domain/message.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { Preview, PreviewRequest } from '../channel.ts';
import {
  continuationMark,
  GrowingMessage,
  type Shown,
  type Cleanup,
} from '../messenger/growing-message.ts';
import { splitText } from '../messenger/splitting.ts';
import type { Api, ApiResult } from './api.ts';
import {
  idIn,
  messageText,
  parseMessageText,
  parseUnseenText,
  unseenText,
  unsureText,
} from './place-reply.ts';
import { parseTarget, previewNonce, previewToWire, textUnitsMax, type Target } from './wire.ts';

export type PreviewDeps = Pick<Clock, 'steady'> & {
  readonly api: Api;
  readonly deadlines: Deadlines;
  readonly cleanup: Cleanup;
};

const everyMs = { person: 1_500, group: 3_000 } as const;
const cutting = {
  unitsMax: textUnitsMax - continuationMark.length,
  unitsOf: (text: string) => text.length,
  fences: true,
};
const spare = { spare: 'admitted' } as const;

/** @returns null if the address is not one of Discord's */
export function beginPreview(deps: PreviewDeps, shown: PreviewRequest): Preview | null {
  const { api, cleanup, steady, deadlines } = deps;
  const target = parseTarget(shown.address.target);
  if (target === null) return null;
  return new GrowingMessage({
    message: shown.replaces,
    made: shown.made,
    unseen: previewName({ id: shown.question, address: shown.address }),
    cut: (text) => splitText(text, cutting)[0]?.text ?? text,
    waitForRoom: (signal, isFirst) => api.spare(signal, isFirst),
    put: (message, text, signal) => put(deps, shown.question, target, message, text, signal),
    remove: (message) => void cleanup.remove(message),
    everyMs: target.message === null ? everyMs.person : everyMs.group,
    repeatMs: null,
    steady,
    deadlines,
  });
}

/** Names the preview by its nonce. A deferred response has no preview. */
export function previewName({ id, address }: Pick<Message, 'id' | 'address'>): string | null {
  const target = parseTarget(address.target);
  if (target === null || target.deferred !== undefined) return null;
  return unseenText({ place: target.place, nonce: previewNonce(id) });
}

async function put(
  { api }: PreviewDeps,
  question: string,
  target: Target,
  message: string | null,
  text: string,
  signal: AbortSignal,
): Promise<Shown> {
  const body = previewToWire(`${text}${continuationMark}`, question, target);
  if (message !== null && parseUnseenText(message)?.place !== target.place) {
    const { nonce: _nonce, enforce_nonce: _enforced, message_reference: _of, ...edit } = body;
    const made = parseMessageText(message);
    if (made?.place !== target.place) return { kind: 'over' };
    const route = `/channels/${made.place}/messages/${made.id}` as const;
    const result = await api.patch(route, edit, signal, spare);
    return mayArriveLate(result)
      ? { kind: 'unseen', message: unsureText(made) }
      : shownAfter(result);
  }
  const route = `/channels/${target.place}/messages` as const;
  const result = await api.post(route, body, signal, spare);
  const id = result.kind === 'ok' ? idIn(result.body) : null;
  if (id !== null) return { kind: 'made', message: messageText({ place: target.place, id }) };
  if (!mayExist(result)) return shownAfter(result);
  return {
    kind: 'unseen',
    message: unseenText({ place: target.place, nonce: previewNonce(question) }),
  };
}

function mayExist(result: ApiResult): boolean {
  if (result.kind === 'refused') return result.status >= 500;
  return result.kind === 'ok' || result.sent;
}

/**
 * Whether the edit may still happen. An answer of the platform itself is final; an answer of a
 * gateway or a proxy's page is not.
 */
function mayArriveLate(result: ApiResult): boolean {
  if (result.kind === 'refused') {
    return result.status === 504 || (result.status >= 500 && result.message === '');
  }
  return result.kind === 'fault' && result.sent;
}

function shownAfter(result: ApiResult): Shown {
  if (result.kind === 'ok') return { kind: 'shown' };
  if (result.kind !== 'refused' || result.status !== 429) return { kind: 'failed' };
  return result.unasked ? { kind: 'busy', ms: result.retryAfterMs ?? 0 } : { kind: 'over' };
}
