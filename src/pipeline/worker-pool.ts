/**
 * A worker pool takes claims of one box and one channel from the ledger, at most as many at once as
 * it has slots. It knows no order: whatever the ledger gives may run. States: asleep → taking →
 * full | asleep. Finished work frees its slot and takes again if the ledger may hold more.
 */
export class WorkerPool<Claim> {
  readonly #slots: number;
  readonly #take: (n: number) => Promise<readonly Claim[]>;
  readonly #work: (claim: Claim) => Promise<void>;
  readonly #rested: () => void;
  readonly #failed: (error: unknown) => void;
  #busy = 0;
  #taking = false;
  #woken = false;
  /** The last take gave as many claims as were asked for, so there may be more. */
  #mayHaveMore = false;
  #stopped = false;

  /**
   * @param options `take` claims up to n; `work` does one and never rejects; `rested` is called
   *   after each piece of work and after each take that found none; `failed` gets the error of a
   *   take that rejected: it took nothing, and the next wake takes again
   */
  constructor(options: {
    readonly slots: number;
    readonly take: (n: number) => Promise<readonly Claim[]>;
    readonly work: (claim: Claim) => Promise<void>;
    readonly rested: () => void;
    readonly failed: (error: unknown) => void;
  }) {
    this.#slots = options.slots;
    this.#take = options.take;
    this.#work = options.work;
    this.#rested = options.rested;
    this.#failed = options.failed;
  }

  /** No work is running, and no take is under way. */
  get resting(): boolean {
    return this.#busy === 0 && !this.#taking;
  }

  /** A hint that there may be claims to take. */
  wake(): void {
    this.#woken = true;
    if (!this.#taking && !this.#stopped) void this.#fill();
  }

  /** Takes no more claims; running work continues. */
  stop(): void {
    this.#stopped = true;
  }

  async #fill(): Promise<void> {
    this.#taking = true;
    try {
      while (this.#woken && !this.#stopped && this.#busy < this.#slots) {
        this.#woken = false;
        const free = this.#slots - this.#busy;
        const claims = await this.#take(free);
        this.#mayHaveMore = claims.length >= free;
        for (const claim of claims) void this.#run(claim);
      }
    } catch (error) {
      this.#failed(error);
    }
    this.#taking = false;
    if (this.#busy === 0) this.#rested();
  }

  async #run(claim: Claim): Promise<void> {
    this.#busy++;
    await this.#work(claim);
    this.#busy--;
    if (this.#mayHaveMore || this.#woken) this.wake();
    this.#rested();
  }
}
