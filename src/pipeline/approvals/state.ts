/** What is known of approvals in this process, for as long as it lives. */
import { later, type Clock, type SteadyTime } from '../../lib/clock.ts';

/** After so many wrong codes within the hour none is looked up for that person. */
const wrongCodesMax = 10;
const wrongCodesMs = 3_600_000;
/** Of more people the one whose last wrong code is the oldest is forgotten. */
const peopleMax = 10_000;

export class ApprovalWork {
  readonly #steady: Clock['steady'];
  /** By the person: until when each of their wrong codes counts, oldest first. */
  readonly #wrong = new Map<string, SteadyTime[]>();
  #wake: (() => void) | null = null;

  constructor({ steady }: Pick<Clock, 'steady'>) {
    this.#steady = steady;
  }

  /** Somebody wrote a code that there is not, or not for them. */
  wrongCode(person: string): void {
    const counted = this.#counted(person);
    counted.push(later(this.#steady(), wrongCodesMs));
    this.#wrong.delete(person);
    this.#wrong.set(person, counted);
    const [oldest] = this.#wrong.keys();
    if (this.#wrong.size > peopleMax && oldest !== undefined) this.#wrong.delete(oldest);
  }

  isShutOut(person: string): boolean {
    return this.#wrong.has(person) && this.#counted(person).length >= wrongCodesMax;
  }

  /** Something was asked or decided that somebody has to go on with. */
  wake(): void {
    this.#wake?.();
  }

  /** @param wake is called from now on; null: nobody is */
  onWake(wake: (() => void) | null): void {
    this.#wake = wake;
  }

  #counted(person: string): SteadyTime[] {
    const now = this.#steady();
    return (this.#wrong.get(person) ?? []).filter((until) => until > now);
  }
}
