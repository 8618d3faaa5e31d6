/** The rules of each revision, and which brain they give to a message. */

export const brains = ['first', 'second', 'third', 'fourth'] as const;
export type BrainName = (typeof brains)[number];

/** The brains of messages with the command, of every second speaker, and of all others. */
export type Rules = {
  readonly ofCommand: BrainName;
  readonly ofHalf: BrainName;
  readonly rest: BrainName;
};

/** svc uses the rules from a moment between both on. Times are milliseconds since 1970. */
type Revision = { readonly rules: Rules; readonly askedAt: number; readonly usedAt: number };

/** `acceptedAt`: svc had accepted it by then. */
export type Message = {
  readonly isOfHalf: boolean;
  readonly hasCommand: boolean;
  readonly beganAt: number;
  readonly acceptedAt: number;
};

export type Answer = {
  readonly message: Message;
  /** The brain that the answer names. */
  readonly brain: string;
  readonly at: number;
};

export class Revisions {
  readonly #all: Revision[] = [];

  add(revision: Revision): void {
    this.#all.push(revision);
  }

  /** Whether the message may have been accepted while this brain was that of its route. */
  allows({ message, brain }: Answer): boolean {
    return this.#possible(message).some(({ rules }) => brainOf(rules, message) === brain);
  }

  /** Whether the message had waited until another brain was that of its route. */
  hasKept({ message, brain, at }: Answer): boolean {
    const newest = this.#all.findLast(({ usedAt }) => usedAt < at)!;
    return brainOf(newest.rules, message) !== brain;
  }

  #possible({ beganAt, acceptedAt }: Message): readonly Revision[] {
    return this.#all.filter(({ askedAt }, at) => {
      const replacedAt = this.#all[at + 1]?.usedAt ?? Infinity;
      return askedAt <= acceptedAt && replacedAt >= beganAt;
    });
  }
}

function brainOf({ ofCommand, ofHalf, rest }: Rules, message: Message): BrainName {
  if (message.hasCommand) return ofCommand;
  return message.isOfHalf ? ofHalf : rest;
}
