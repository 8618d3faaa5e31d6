/**
 * Calls that need approval: their record, the people who may decide, and the limit on wrong codes.
 */
import { hourMs } from '../../lib/durations.ts';
import type { AgentFacts } from '../../brains/brain.ts';
import type { Approval, WantedCall } from '../../domain/approval.ts';
import { registeredNameOf, type ApprovalId, type ChannelKey } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { later, type Clock, type SteadyTime } from '../../lib/clock.ts';
import { setNewest } from '../../lib/cache.ts';

/** At most so many approvals may be open in all. */
export const approvalsOpenMax = 1_000;

/**
 * The approvals that are not settled yet, as far as the ledger lists them; null: they cannot be
 * read.
 */
export async function openApprovals(
  { approvals }: Pick<Ledger, 'approvals'>,
  now: number,
): Promise<readonly Approval[] | null> {
  try {
    const all = [...(await approvals.waiting()), ...(await approvals.owed(now))];
    return [...new Map(all.map((one) => [one.id, one])).values()];
  } catch {
    return null;
  }
}

type ApprovalRequest = {
  readonly id: ApprovalId;
  readonly brain: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly waitMs: number;
};

/** @param message the message whose turn asks */
export function newApproval(
  { tool, arguments: given, hash }: WantedCall,
  { id: messageId, channel, conversation, address, sender, sensitivity }: Message,
  { id, brain, at, waitMs }: ApprovalRequest,
): Approval {
  const where = { channel, conversation, address, sender, messageId };
  const openFields = { decidedAt: null, decidedBy: null, settledAt: null, outcome: null };
  return {
    id,
    code: newApprovalCode(),
    state: 'waiting',
    ...where,
    brain,
    tool,
    arguments: given,
    hash,
    sensitivity,
    askedAt: at,
    expiresAt: at + waitMs,
    ...openFields,
  };
}

/** Whether somebody besides the operator may decide, on that channel and on other channels. */
export function approversOf(
  agent: AgentFacts | null,
  channel: ChannelKey,
): { readonly here: boolean; readonly elsewhere: boolean } {
  const approvers = agent?.asking?.approvers ?? [];
  const onChannel = `${registeredNameOf(channel)}:`;
  const here = approvers.filter((name) => name.startsWith(onChannel)).length;
  return { here: here > 0, elsewhere: here < approvers.length };
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const codeLength = 10;

/** 50 random bits: a person can type the code, and nobody can guess it. */
function newApprovalCode(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(codeLength));
  return Array.from(bytes, (byte) => alphabet[byte & 31]!).join('');
}

/**
 * Whether a word of the text has the length of an approval code. Both letter cases count, and so do
 * letters that no code has; the characters around the word do not matter.
 */
export function holdsApprovalCode(text: string): boolean {
  return text.split(/[^0-9A-Za-z]+/).some(({ length }) => length === codeLength);
}

// What this process knows about approvals, for as long as it lives.

/** After so many wrong codes within the hour, no code is looked up for that person. */
const wrongCodesMax = 10;
const wrongCodesMs = hourMs;
/** Beyond so many people, the one with the oldest last wrong code is forgotten. */
const peopleMax = 10_000;

export class ApprovalWork {
  readonly #steady: Clock['steady'];
  /** By person: until when each of their wrong codes counts, oldest first. */
  readonly #wrongCodes = new Map<string, SteadyTime[]>();
  #wake: (() => void) | null = null;

  constructor({ steady }: Pick<Clock, 'steady'>) {
    this.#steady = steady;
  }

  /** Somebody wrote a code that does not exist, or that they may not decide. */
  wrongCode(person: string): void {
    const recent = this.#recentWrongCodes(person);
    recent.push(later(this.#steady(), wrongCodesMs));
    setNewest(this.#wrongCodes, person, recent, peopleMax);
  }

  isShutOut(person: string): boolean {
    return this.#wrongCodes.has(person) && this.#recentWrongCodes(person).length >= wrongCodesMax;
  }

  /** An approval was requested or decided, and somebody has to continue with it. */
  wake(): void {
    this.#wake?.();
  }

  /** @param wake called from now on; null: nobody is called */
  onWake(wake: (() => void) | null): void {
    this.#wake = wake;
  }

  #recentWrongCodes(person: string): SteadyTime[] {
    const now = this.#steady();
    return (this.#wrongCodes.get(person) ?? []).filter((until) => until > now);
  }
}
