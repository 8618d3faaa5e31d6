/**
 * The one configuration of all instances that work on one database: which is in use, which were
 * before, and how another takes its place.
 *
 * A proposal is open → used, refused, or closed. One at most is open. Each instance that is asked
 * votes: it can use that text with its own secrets, or why it cannot. Those are asked that live and
 * have begun with, or told, what they use; the others come later, and take what is in use then. Who
 * proposed decides: all said yes, and it is the one in use from the same moment on; or one said no,
 * or nothing within 10 s. What nobody decides is closed by the others.
 *
 * Nothing here holds a secret. Every method may be called at any time, and rejects with
 * ConfigsFailed.
 */
export interface SharedConfigs {
  /** This instance's number. */
  readonly instance: number;
  /**
   * This instance starts with that text, which is the first one where there is none. Where it is
   * in use, this instance is asked from now on.
   * @returns the one in use
   */
  begin(first: WrittenConfig): Promise<SharedConfig>;
  current(): Promise<SharedConfig>;
  /** @param proposal whose end is waited for; null: none */
  look(proposal: number | null): Promise<ConfigsSeen>;
  /**
   * This instance has that one in use, and is asked from now on.
   * @param n its number; null: it ends, and is not asked any more
   */
  uses(n: number | null): Promise<void>;
  /** This instance says yes to it at the same time. @param base the one that it is to follow */
  propose(base: number, written: WrittenConfig): Promise<Proposed>;
  /** @returns null: it is kept no more */
  proposal(n: number): Promise<Proposal | null>;
  /** The first vote of an instance counts. @param refusal null: it can be used here */
  vote(proposal: number, refusal: VoteRefusal | null): Promise<void>;
  /** Counts the votes. @returns `open`: whose are missing */
  decide(proposal: number): Promise<Decided>;
  /** Closes it unless it is decided. */
  close(proposal: number, why: ClosedWhy): Promise<void>;
  /**
   * For a command that has the database alone: that text is in use from now on.
   * @returns the revision before; null: there was none
   */
  replace(written: WrittenConfig): Promise<string | null>;
  /** The one in use and those before it, newest first, each revision once; a hundred at most. */
  history(): Promise<readonly KeptRow[]>;
  /** null: it is not kept. */
  kept(revision: string): Promise<SharedConfig | null>;
}

/** `by`: who wanted it, for people: `operator`, `signal`, `start`, `command`. */
export type WrittenConfig = {
  readonly revision: string;
  readonly text: string;
  readonly by: string;
};

/** `n` grows with each that comes into use. */
export type SharedConfig = {
  readonly n: number;
  readonly revision: string;
  readonly text: string;
  /** When it came into use by the server's clock, milliseconds since 1970. */
  readonly at: number;
};

export type KeptRow = Omit<SharedConfig, 'text'> & { readonly bytes: number };

/** As a person finds it; `host` is empty where it is not known. */
export type NamedInstance = {
  readonly id: number;
  readonly host: string;
  readonly version: string;
};

export type ConfigsSeen = {
  /** The number of the one in use. */
  readonly current: number;
  /** Since when, in milliseconds of the server's clock. */
  readonly ageMs: number;
  /** null: none is open. */
  readonly open: OpenProposal | null;
  /** What became of the proposal that was asked for; null: it is open, or none was asked for. */
  readonly end: ProposalEnd | null;
  /** Others that live and still use an older one. */
  readonly behind: readonly NamedInstance[];
};

export type OpenProposal = {
  readonly n: number;
  readonly base: number;
  readonly by: NamedInstance;
  /** Its instance is dead, or should have decided long ago. */
  readonly isOrphan: boolean;
};

export type Proposal = WrittenConfig & { readonly n: number };

export type Proposed =
  | { readonly kind: 'proposed'; readonly n: number }
  /** Another one is open. */
  | { readonly kind: 'busy' }
  /** Another one is in use by now. */
  | { readonly kind: 'moved' };

/** `code` is that of the refusal, `detail` says why, and what to do. No value of a secret. */
export type VoteRefusal = { readonly code: string; readonly detail: string };

export type InstanceRefusal = VoteRefusal & { readonly instance: NamedInstance };

/** `moved`: another came into use. `late`: nobody decided. `withdrawn`: who proposed gave it up. */
export type ClosedWhy = 'moved' | 'late' | 'withdrawn';

export type ProposalEnd =
  /** `n`: the number under which it is in use. */
  | { readonly kind: 'used'; readonly n: number }
  /** Of one that said nothing the code is `silent`. */
  | { readonly kind: 'refused'; readonly refusals: readonly InstanceRefusal[] }
  | { readonly kind: 'closed'; readonly why: ClosedWhy };

export type Decided =
  | ProposalEnd
  | { readonly kind: 'open'; readonly missing: readonly NamedInstance[] };

/**
 * `away`: the server could not be asked; whether it has done what it was asked for is not known.
 * `dead`: this instance counts as dead, and changes nothing any more. `message` is a sentence.
 */
export class ConfigsFailed extends Error {
  override readonly name = 'ConfigsFailed';
  readonly reason: 'away' | 'dead' | 'closed';

  constructor(reason: ConfigsFailed['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}
