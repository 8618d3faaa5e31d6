/**
 * The svc that polls a bot, or has a session of its gateway, and whether two do so at once. A
 * double entry begins while another svc, which is not paused, has one open. It is also double when
 * its svc does not hold the lease any more.
 */
import type { Fleet } from './fleet.ts';
import type { Instance, Life } from './instance.ts';
import type { Entry, Platform } from './platforms.ts';
import { ownerOf } from './sockets.ts';

export type Entered = Entry & {
  readonly platform: Platform;
  readonly instance: Instance;
  readonly life: Life;
  /** By performance.now(). */
  readonly at: number;
};

export class Entries {
  readonly all: Entered[] = [];
  /** Double entries, each as a sentence. */
  readonly doubles: string[] = [];
  readonly #fleet: Fleet;
  readonly #looking = new Set<Promise<void>>();

  constructor(fleet: Fleet, platforms: readonly Platform[]) {
    this.#fleet = fleet;
    for (const platform of platforms) platform.watch((entry) => this.#entered(platform, entry));
  }

  /** The last entry. */
  newest(platform: Platform): Entered | null {
    return this.all.findLast((one) => one.platform === platform) ?? null;
  }

  /** Resolves when all entries have been checked. */
  async looked(): Promise<void> {
    while (this.#looking.size > 0) await Promise.all(this.#looking);
  }

  #entered(platform: Platform, entry: Entry): void {
    const living = this.#fleet.instances.filter(({ life }) => life.how === null);
    const pid = ownerOf(
      entry.port,
      platform.port,
      living.map((one) => one.pid),
    );
    const instance = living.find((one) => one.pid === pid);
    // Its process is gone, so nobody hears the answer.
    if (instance === undefined) return;
    const entered = { ...entry, platform, instance, life: instance.life, at: performance.now() };
    const isWaking = instance.isPaused || this.#isFirstSincePause(entered);
    const other = this.all.findLast((one) => isBeside(one, entered));
    this.all.push(entered);
    if (isWaking) return;
    if (other !== undefined) this.#tell(entered, `while ${other.instance.name} has one`);
    else this.#look(entered);
  }

  /** A request from before the pause arrives once the svc goes on, however late. */
  #isFirstSincePause({ platform, life }: Entered): boolean {
    const { wentOnAt } = life;
    if (wentOnAt === null) return false;
    const isOne = (one: Entered): boolean =>
      one.platform === platform && one.life === life && one.at > wentOnAt;
    return !this.all.some(isOne);
  }

  /** An entry under a lease must be over before another svc has the lease. */
  #look(entered: Entered): void {
    const { instance, platform, life } = entered;
    const { rows } = this.#fleet;
    const look = async (): Promise<void> => {
      const own = await rows.instanceOf(life.program.child.pid!);
      const holder = await rows.holderOf(platform.post);
      const isOver = !entered.isOpen() || life.how !== null || instance.isPaused;
      if (holder !== own && !isOver) this.#tell(entered, `while ${holder} has the post`);
    };
    const looking = look().finally(() => this.#looking.delete(looking));
    this.#looking.add(looking);
  }

  #tell({ platform, instance, at }: Entered, why: string): void {
    this.doubles.push(`${platform.name}: ${instance.name} begins one ${why} (${Math.round(at)})`);
  }
}

/**
 * An entry of another svc whose process hears the answer. A svc paused with an open one closes it
 * when it goes on, and ends; other checks see that. Its later entries count.
 */
function isBeside(one: Entered, { platform, life }: Entered): boolean {
  if (one.platform !== platform || one.life === life || one.life.how !== null) return false;
  const { wentOnAt } = one.life;
  const wasPaused = one.instance.isPaused || (wentOnAt !== null && wentOnAt > one.at);
  return !wasPaused && one.isOpen();
}
