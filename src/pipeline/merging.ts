/**
 * Which messages may be merged with others into one turn: messages in quick succession, where the
 * channel is configured so, and the parts of an album, which the channel knows.
 */
import type { Inbound } from '../domain/message.ts';
import type { GatedChannel } from './gate.ts';

/**
 * An edit, a pairing request and a command are never merged. A burst also leaves out forwarded
 * messages, which somebody else wrote, and replies or quotes, which belong to one message alone.
 */
export function withMergeWindow(
  message: Inbound,
  { gatherMs: ms, knows }: Pick<GatedChannel, 'gatherMs' | 'knows'>,
): Inbound {
  const { gather, ...unmerged } = message;
  const { pairingCode, apart, saidAt } = message;
  if (pairingCode !== undefined || apart === 'edit')
    return gather === undefined ? message : unmerged;
  const { quoted, forwardedFrom } = message.context ?? {};
  const refersToOther = quoted !== undefined || forwardedFrom !== undefined;
  if (gather !== undefined || ms === 0 || apart !== undefined || refersToOther) return message;
  if (knows(message)) return message;
  return { ...message, gather: { kind: 'burst', ms, ...(saidAt !== undefined && { saidAt }) } };
}
