/**
 * Tells whom an operator let in that they are, in the person's own chat: once, whatever ends in
 * between, and whoever else works on the ledger. What is owed is kept with the pairings.
 *
 * It looks when somebody was let in here, and twice a minute for those whom another instance or a
 * command let in, and those who could not be told yet.
 */
import type { Receipt } from '../channels/channel.ts';
import type { Inbound } from '../domain/message.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { Pairings, Unwelcomed } from '../pipeline/pairing/pairing.ts';
import { OwedWork } from './background-work.ts';
import type { RunningConfig, PlannedChannel } from './running-config.ts';

const lookMs = 30_000;
/** How long a platform may take to say where somebody is talked to. */
const directMs = 10_000;
/** Later it would be no news. */
const newsMs = 24 * 3_600_000;

export type WelcomingDeps = Pick<Deps, 'events' | 'now'> & {
  readonly host: {
    readonly plan: Pick<RunningConfig, 'channels'> | null;
    readonly pairings: Pairings;
  };
};

/** @returns ends it */
export function keepWelcoming(deps: WelcomingDeps): () => void {
  const welcoming = new Welcoming(deps);
  welcoming.begin();
  return () => welcoming.end();
}

class Welcoming {
  readonly #deps: WelcomingDeps;
  readonly #work: OwedWork;

  constructor(deps: WelcomingDeps) {
    this.#deps = deps;
    this.#work = new OwedWork({
      look: () => this.#look(),
      failed: (error) => deps.events.faulted({ where: 'a welcome', error }),
      againMs: lookMs,
    });
  }

  begin(): void {
    this.#deps.host.pairings.onAdmitted = this.#work.wake;
    this.#work.wake();
  }

  end(): void {
    this.#deps.host.pairings.onAdmitted = null;
    this.#work.end();
  }

  async #look(): Promise<number> {
    const { host } = this.#deps;
    for (const planned of host.plan?.channels ?? []) {
      if (planned.access?.pairing !== true) continue;
      for (const one of await host.pairings.unwelcomed(planned.type))
        await this.#tell(one, planned);
    }
    return lookMs;
  }

  async #tell(one: Unwelcomed, planned: PlannedChannel): Promise<void> {
    const { host, events, now } = this.#deps;
    const { sender, name, at } = one;
    if (now() - at > newsMs) return host.pairings.welcome(one, null);
    const signal = AbortSignal.any([this.#work.over, AbortSignal.timeout(directMs)]);
    const where = (await planned.channel.direct?.(sender, signal)) ?? null;
    if (where === null || this.#work.over.aborted) return;
    const { channel } = where.address;
    const message: Inbound = {
      channel,
      ...where,
      sender: { id: sender, name },
      text: '',
      media: null,
      dedupeKey: `welcome:${sender}:${at}`,
      welcome: true,
      sensitivity: planned.brain.sensitivity,
    };
    const accepted = ({ id, duplicate }: Receipt): void =>
      events.messageAccepted({ channel, id, duplicate });
    await host.pairings.welcome(one, { message, accepted });
  }
}
