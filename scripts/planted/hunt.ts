/** Finds the first test that a fault turns red. */
import type { Fault } from '../../test/planted/fault.ts';
import type { Copy } from './copy.ts';
import { TestFiles } from './near.ts';
import { firstRed, type Seen } from './tests.ts';

export type Planting = { readonly room: string; readonly fault: Fault };
export type Found = Planting & { readonly seen: Seen; readonly seconds: number };

export type HuntOptions = {
  /** Runs only the tests near a fault and of its room. */
  readonly nearOnly: boolean;
  /** A fault hung a test when no test begins or ends for this long. */
  readonly silenceMsMax: number;
  readonly stop: AbortSignal;
  readonly say: (line: string) => void;
};

export class Hunt {
  readonly #options: HuntOptions;
  readonly #tests: TestFiles;
  /** Test files that were red with a fault; resolves to whether they are green without one. */
  readonly #isSound = new Map<string, Promise<boolean>>();

  constructor(root: string, options: HuntOptions) {
    this.#options = options;
    this.#tests = new TestFiles(root);
  }

  async find(copy: Copy, planting: Planting): Promise<Found> {
    const startedAt = performance.now();
    const { near, room, others } = this.#tests.roundsFor(planting.fault);
    const rounds = this.#options.nearOnly ? [near, room] : [near, room, others];
    let seen: Seen = { kind: 'green' };
    for (const files of rounds) {
      seen = await this.#runRound(copy, planting.fault, files);
      if (seen.kind !== 'green') break;
    }
    return { ...planting, seen, seconds: (performance.now() - startedAt) / 1_000 };
  }

  /** Ignores a file that is red without the fault too. */
  async #runRound(copy: Copy, fault: Fault, files: readonly string[]): Promise<Seen> {
    for (let left = files; ;) {
      const seen = await this.#runPlanted(copy, fault, left);
      if (seen.kind === 'green' || (await this.#sound(copy, seen.file))) return seen;
      left = left.slice(left.indexOf(seen.file) + 1);
    }
  }

  async #runPlanted(copy: Copy, fault: Fault, files: readonly string[]): Promise<Seen> {
    using _ = copy.plant(fault);
    return await this.#run(copy, files);
  }

  #sound(copy: Copy, file: string): Promise<boolean> {
    const known = this.#isSound.get(file);
    if (known !== undefined) return known;
    const sound = this.#run(copy, [file]).then(({ kind }) => {
      if (kind !== 'green') this.#options.say(`! ${file} is red without any fault: left out`);
      return kind === 'green';
    });
    this.#isSound.set(file, sound);
    return sound;
  }

  #run({ tree, env }: Copy, files: readonly string[]): Promise<Seen> {
    const { silenceMsMax, stop } = this.#options;
    return firstRed({ tree, env, files, silenceMsMax, stop });
  }
}
