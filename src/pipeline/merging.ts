/**
 * Which messages may be one turn with others: what is said in quick succession, where the channel
 * is so configured, and the pieces of an album, which the channel knows.
 */
import type { Inbound } from '../domain/message.ts';
import type { GatedChannel } from './gate.ts';

/**
 * An edit, a stranger's knock and a command stand alone. So does in a burst what was forwarded,
 * which another one said, and what replies or quotes, which is said to that alone.
 */
export function withGather(
  message: Inbound,
  { gatherMs: ms, knows }: Pick<GatedChannel, 'gatherMs' | 'knows'>,
): Inbound {
  const { gather, ...alone } = message;
  const { pairingCode, apart, saidAt } = message;
  if (pairingCode !== undefined || apart === 'edit') return gather === undefined ? message : alone;
  const { quoted, forwardedFrom } = message.context ?? {};
  const refers = quoted !== undefined || forwardedFrom !== undefined;
  if (gather !== undefined || ms === 0 || apart !== undefined || refers) return message;
  if (knows(message)) return message;
  return { ...message, gather: { kind: 'burst', ms, ...(saidAt !== undefined && { saidAt }) } };
}
