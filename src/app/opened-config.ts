/** A plan on its way: open beside the one in use, until it takes its place or is dropped. */
import type { ChannelProblem } from '../channels/channel.ts';
import type { Events } from '../domain/event.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import { keepPublicSince } from '../pipeline/public-since.ts';
import { GivenUp } from '../lib/lifetime.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { OpeningRunningConfig, RunningConfig } from './running-config.ts';

const stopping: ChannelProblem = {
  kind: 'problem',
  code: 'shutting_down',
  message: 'The service is stopping; it takes no new configuration.',
};

type Opening = OpeningRunningConfig & {
  readonly plan: RunningConfig;
  readonly ledger: Pick<Ledger, 'accept' | 'cursor'>;
  readonly events: Pick<Events, 'faulted'>;
  readonly now: () => number;
  /** Puts it in the place of the one in use. */
  readonly run: () => void;
  /** Is called once, when the next plan may be opened. */
  readonly over: () => void;
};

/** @throws what a channel throws */
export async function openRunningConfig(
  opening: Opening,
): Promise<ChannelProblem | OpenedRunningConfig> {
  const { plan: runningConfig, givenUp, over } = opening;
  let isOpen = false;
  try {
    const problem = await runningConfig.open(opening);
    if (problem !== null) return problem;
    await label(opening, 'private');
    isOpen = true;
  } catch (error) {
    if (error instanceof GivenUp) return stopping;
    throw error;
  } finally {
    if (!isOpen) over();
  }
  const opened = new OpenedRunningConfig(opening);
  if (!givenUp.aborted) return opened;
  await opened.drop();
  return stopping;
}

/** No other plan is opened before it is used or dropped; the end of the service drops it. */
export class OpenedRunningConfig {
  readonly kind = 'opened';
  readonly #opening: Opening;
  #dropped: Promise<void> | null = null;
  #isOver = false;

  constructor(opening: Opening) {
    this.#opening = opening;
    opening.givenUp.addEventListener('abort', this.#giveUp, { once: true });
  }

  /**
   * @returns null: it is in use
   * @throws what the way into use throws; it may be in use all the same
   */
  use(): ChannelProblem | null {
    if (this.#isOver) return stopping;
    this.#end();
    const { run, over } = this.#opening;
    try {
      run();
      void label(this.#opening, 'public');
    } finally {
      over();
    }
    return null;
  }

  /** Gives back what it took, where it is not in use. */
  drop(): Promise<void> {
    if (!this.#isOver) {
      this.#end();
      const { plan: runningConfig, over } = this.#opening;
      this.#dropped = runningConfig.retire(0).finally(over);
    }
    return this.#dropped ?? Promise.resolve();
  }

  readonly #giveUp = (): void => void this.drop();

  #end(): void {
    this.#isOver = true;
    this.#opening.givenUp.removeEventListener('abort', this.#giveUp);
  }
}

/** A plan is used also where this cannot be kept. */
async function label(
  { ledger, plan: runningConfig, now, events }: Opening,
  become: Sensitivity,
): Promise<void> {
  try {
    await keepPublicSince(ledger, runningConfig.lines, become, now());
  } catch (error) {
    events.faulted({ where: 'keeping since when a channel is public', error });
  }
}
