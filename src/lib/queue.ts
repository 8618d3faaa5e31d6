/** What a queue without a ring has in its place; nothing is ever put into it. */
const none: never[] = [];

/** A double-ended queue on a ring: push, unshift and shift cost the same however long it is. */
export class Queue<T> {
  /** Small at first, since most queues hold one thing or none and there are very many queues. */
  #ring: (T | undefined)[] = none;
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: T): void {
    if (this.#length === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#length) & (this.#ring.length - 1)] = value;
    this.#length++;
  }

  unshift(value: T): void {
    if (this.#length === this.#ring.length) this.#grow();
    this.#head = (this.#head - 1) & (this.#ring.length - 1);
    this.#ring[this.#head] = value;
    this.#length++;
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const value = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#length--;
    return value;
  }

  peek(): T | undefined {
    return this.#length === 0 ? undefined : this.#ring[this.#head];
  }

  /** Counts from the head; undefined behind the tail. */
  at(index: number): T | undefined {
    if (index >= this.#length) return undefined;
    return this.#ring[(this.#head + index) & (this.#ring.length - 1)];
  }

  /** Takes out all that match, wherever they are; the others keep their order. */
  extract(matches: (value: T) => boolean): T[] {
    const taken: T[] = [];
    for (let left = this.#length; left > 0; left--) {
      const value = this.shift()!;
      if (matches(value)) taken.push(value);
      else this.push(value);
    }
    return taken;
  }

  #grow(): void {
    const ring: (T | undefined)[] =
      this.#length === 0 ? [undefined, undefined] : Array.from({ length: this.#length * 2 });
    for (let i = 0; i < this.#length; i++) {
      ring[i] = this.#ring[(this.#head + i) & (this.#ring.length - 1)];
    }
    this.#ring = ring;
    this.#head = 0;
  }
}
