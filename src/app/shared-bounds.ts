/** The bounds of calls to models, of which each instance on the ledger has its part. */
import type { ModelConfig } from '../config/config.ts';
import type { CallBounds } from '../brains/models/call-bounds.ts';
import type { Peers } from '../cluster/peers.ts';

export class SharedBounds implements Disposable {
  readonly #bounds: CallBounds;
  readonly #peers: Peers;
  readonly #unsubscribe: () => void;
  #models: readonly ModelConfig[] = [];

  constructor(bounds: CallBounds, peers: Peers) {
    this.#bounds = bounds;
    this.#peers = peers;
    this.#unsubscribe = peers.onChange(() => this.#hold());
  }

  /** @param models of the plan that is in use from now on */
  use(models: readonly ModelConfig[]): void {
    this.#models = models;
    this.#hold();
  }

  #hold(): void {
    this.#bounds.hold(this.#models, this.#peers.share());
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
  }
}
