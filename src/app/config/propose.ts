/** Brings a configuration before all instances, and waits for what comes of it. */
import type { SteadyTime } from '../../lib/clock.ts';
import {
  ConfigsFailed,
  type ProposalEnd,
  type SharedConfigs,
} from '../../cluster/shared-configs.ts';

export type Proposing = {
  readonly configs: SharedConfigs;
  readonly steady: () => SteadyTime;
  /** Aborted: it is given up. */
  readonly stop: AbortSignal;
  /** Has the others look at once. */
  readonly tell: () => void;
  /** Resolves a moment later, or when somebody has told. */
  readonly pause: () => Promise<void>;
};

/** `unknown`: the server stopped answering, and the proposal may come into use yet. */
export type ProposedEnd =
  | ProposalEnd
  | { readonly kind: 'busy' }
  | { readonly kind: 'moved' }
  | { readonly kind: 'unknown'; readonly n: number };

/** Without a server for so long whoever waits is told. */
const awayMs = 20_000;

/**
 * @param base the number of the one that it is to follow
 * @throws ConfigsFailed where nothing was proposed
 */
export async function propose(
  base: number,
  written: Parameters<SharedConfigs['propose']>[1],
  { configs, steady, stop, tell, pause }: Proposing,
): Promise<ProposedEnd> {
  const proposed = await configs.propose(base, written);
  if (proposed.kind !== 'proposed') return proposed;
  const { n } = proposed;
  tell();
  let answeredAt = steady();
  for (;;) {
    try {
      if (stop.aborted) await configs.close(n, 'withdrawn');
      const decided = await configs.decide(n);
      if (decided.kind !== 'open') return decided;
      answeredAt = steady();
    } catch (error) {
      if (!(error instanceof ConfigsFailed)) throw error;
      const isOver = error.reason !== 'away' || stop.aborted;
      if (isOver || steady() - answeredAt > awayMs) return { kind: 'unknown', n };
    }
    await pause();
  }
}
