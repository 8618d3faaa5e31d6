/**
 * Which messages may be one turn with others: what is said in quick succession, where the channel
 * is so configured, and the pieces of an album, which the channel knows.
 */
import type { Inbound } from '../domain/message.ts';
import type { ActiveRoute } from './kit.ts';
import { isCommand } from './sessions.ts';

/** `ms`: within so many milliseconds of each other; 0: no two are one but those of an album. */
export type GatheringRule = { readonly ms: number; readonly triggers: readonly string[] };

export function gatheringOn({ gatherMs = 0, session }: ActiveRoute): GatheringRule {
  return { ms: gatherMs, triggers: session?.triggers ?? [] };
}

/** A stranger's knock, a command, and what svc says to itself stand alone. */
export function withGather(message: Inbound, { ms, triggers }: GatheringRule): Inbound {
  const { gather, ...alone } = message;
  const isOwn = message.pairingCode !== undefined || message.approval !== undefined;
  if (isOwn) return gather === undefined ? message : alone;
  if (gather !== undefined || ms === 0 || isCommand(message.text, triggers)) return message;
  return { ...message, gather: { kind: 'burst', ms } };
}
