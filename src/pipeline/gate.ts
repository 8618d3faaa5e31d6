/**
 * The gate before the ledger, for every messenger. It lets messages of a batch pass or turns them
 * away. A stranger's pairing request becomes a message that svc answers with a code.
 */
import type { Receipt } from '../channels/channel.ts';
import type { AccessConfig } from '../config/config.ts';
import type { Events } from '../domain/event.ts';
import type { TurnedAway, TurnedAwayReason } from '../domain/gate.ts';
import { registeredNameOf, type ChannelKey } from '../domain/ids.ts';
import type { Inbound } from '../domain/message.ts';
import type { CursorMove } from '../ledger/ledger.ts';
import type { ExpectingMove } from './pairing/stored-pairings.ts';
import type { Routing } from './route.ts';
import type { PairingRequest, Pairings } from './pairing/pairing.ts';
import { setNewest } from '../lib/cache.ts';

/**
 * At most so many refusals are remembered, one for each sender and reason; the oldest are
 * forgotten.
 */
const turnedAwayMax = 1_000;

/** A messenger channel: who may talk there, and the routes of its messages. */
export type GatedChannel = {
  readonly channel: ChannelKey;
  readonly access: AccessConfig;
  readonly routing: Routing;
  /** Whether the message is a command that svc answers. */
  readonly knows: (inbound: Inbound) => boolean;
  /** Messages of one person within so many milliseconds become one message; 0: no merging. */
  readonly gatherMs: number;
};

/** The part of a batch that goes to the ledger. */
export type GateResult = {
  readonly messages: readonly Inbound[];
  /** The cursors that move in the commit of the messages. */
  readonly moves: readonly CursorMove[];
  /** Call it when the ledger refused the messages: then no code was given. */
  undo(): void;
  /**
   * Call it when the ledger has the messages, or when there were none for it. Only now are the
   * refusals reported, since a refused batch comes again as a whole.
   * @returns a receipt for each message of the whole batch; null: the message does not go to the
   *   ledger
   */
  settle(receipts: readonly Receipt[]): readonly (Receipt | null)[];
};

type GateDeps = {
  readonly pairings: Pairings;
  readonly events: Pick<Events, 'messageTurnedAway'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

export class Gate {
  readonly #deps: GateDeps;
  readonly #turnedAway = new Map<string, TurnedAway>();

  constructor(deps: GateDeps) {
    this.#deps = deps;
  }

  /** Newest first. */
  get turnedAway(): readonly TurnedAway[] {
    return [...this.#turnedAway.values()].reverse();
  }

  /** Await it before `pass` where the channel's rules have `pairing`. */
  loadPairings(channel: ChannelKey): Promise<void> {
    return this.#deps.pairings.load(registeredNameOf(channel));
  }

  pass(
    channel: ChannelKey,
    { access, knows, routing }: Pick<GatedChannel, 'access' | 'knows' | 'routing'>,
    batch: readonly Inbound[],
  ): GateResult {
    const { pairings } = this.#deps;
    const name = registeredNameOf(channel);
    const isAdmitted = (sender: string): boolean => pairings.isAdmitted(name, sender);
    const isCommand = (one: Inbound): boolean => knows(one) || routing.hasCommand(one);
    const messages: Inbound[] = [];
    /** The verdict on each message, by its place in the batch. */
    const verdicts: (TurnedAwayReason | 'passed' | 'left_out')[] = [];
    const codes: Extract<PairingRequest, { kind: 'code' }>[] = [];
    for (const inbound of batch) {
      if (inbound.apart === 'edit' && knows(inbound)) {
        // An edit is never a command.
        verdicts.push('left_out');
        continue;
      }
      const decision = judge(access, { isAdmitted, knows: isCommand }, inbound);
      const verdict =
        decision.kind === 'knocks' ? pairings.pairingRequest(name, inbound.sender) : decision;
      if (verdict.kind === 'passes') messages.push(withOverheardMark(inbound));
      else if (verdict.kind === 'code') {
        codes.push(verdict);
        const { further: _, context: __, gather: ___, ...bare } = inbound;
        messages.push({ ...bare, text: '', media: null, pairingCode: verdict.code });
      }
      verdicts.push(verdict.kind === 'turned_away' ? verdict.reason : 'passed');
    }
    return {
      messages,
      moves: mergedMoves(codes.map(({ move }) => move)),
      undo: () => codes.toReversed().forEach(({ undo }) => undo()),
      settle: (receipts) => {
        let next = 0;
        return verdicts.map((verdict, at) => {
          if (verdict === 'passed') return receipts[next++]!;
          if (verdict !== 'left_out') this.#turnAway(batch[at]!, verdict);
          return null;
        });
      },
    };
  }

  #turnAway({ channel, sender: { id: sender } }: Inbound, reason: TurnedAwayReason): void {
    const { events, now } = this.#deps;
    events.messageTurnedAway({ channel, reason });
    const key = `${channel} ${reason} ${sender}`;
    const count = (this.#turnedAway.get(key)?.count ?? 0) + 1;
    const row = { channel, sender, reason, count, at: now() };
    setNewest(this.#turnedAway, key, row, turnedAwayMax);
  }
}

/** Marks a message that was said to others, so that its turn knows. */
function withOverheardMark(inbound: Inbound): Inbound {
  if (inbound.setting !== 'overheard') return inbound;
  return { ...inbound, context: { ...inbound.context, overheard: true } };
}

/** Merges successive moves of the same cursor into one move. */
function mergedMoves(moves: readonly ExpectingMove[]): readonly CursorMove[] {
  const [first, last] = [moves[0], moves.at(-1)];
  return first === undefined || last === undefined ? [] : [{ ...last, expected: first.expected }];
}

// Who may talk on a messenger. Pure: one message, the rules of its channel, and who is admitted.

/** `knocks`: a stranger who may get a pairing code. */
type AccessDecision =
  | { readonly kind: 'passes' }
  | { readonly kind: 'knocks' }
  | { readonly kind: 'turned_away'; readonly reason: TurnedAwayReason };

/**
 * The rules of a messenger without access rules: anyone may talk, in groups when addressing svc.
 */
export const openAccess: AccessConfig = { allow: null, groups: 'mention', pairing: false };

type AccessFacts = {
  /** Who was admitted by a code; this counts only while pairing is on. */
  readonly isAdmitted: (sender: string) => boolean;
  /** Whether the message is a command of svc or of a route. */
  readonly knows: (inbound: Inbound) => boolean;
};

const passDecision: AccessDecision = { kind: 'passes' };
const pairingWanted: AccessDecision = { kind: 'knocks' };

/**
 * Judges the setting before the sender: the sender of a group message to others is not looked at.
 * Only a direct chat gets a code, since nobody else reads it there. A command that names no bot
 * counts as said to others unless it is one of ours.
 */
export function judge(
  { allow, groups, pairing }: AccessConfig,
  { isAdmitted, knows }: AccessFacts,
  inbound: Inbound,
): AccessDecision {
  const { sender, setting = 'direct' } = inbound;
  if (setting !== 'direct' && groups === 'off') return turnedAway('groups_off');
  const isAddressed = setting === 'command' ? knows(inbound) : setting !== 'overheard';
  if (!isAddressed && groups === 'mention') return turnedAway('not_addressed');
  if (allow === null && !pairing) return passDecision;
  if (allow !== null && allow.includes(sender.id)) return passDecision;
  if (!pairing) return turnedAway('stranger');
  if (isAdmitted(sender.id)) return passDecision;
  return setting === 'direct' ? pairingWanted : turnedAway('stranger');
}

function turnedAway(reason: TurnedAwayReason): AccessDecision {
  return { kind: 'turned_away', reason };
}
