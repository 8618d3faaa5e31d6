/** Two lists for the message path: a queue on a ring, and a linked set. */

/** Replaces the ring of an empty new queue; nothing is ever put into it. */
const emptyRing: never[] = [];

/**
 * A double-ended queue on a ring. The cost of push, unshift and shift does not depend on its
 * length.
 */
export class Queue<T> {
  /** Small at first: there are very many queues, and most hold one value or none. */
  #ring: (T | undefined)[] = emptyRing;
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

  /** Counts from the head; undefined beyond the tail. */
  at(index: number): T | undefined {
    if (index >= this.#length) return undefined;
    return this.#ring[(this.#head + index) & (this.#ring.length - 1)];
  }

  /** Removes all values that match; the others keep their order. */
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

/**
 * A member of a `LinkedSet`. It has its own links, so adding and removing allocate nothing. A `Set`
 * with thousands of changes a second allocates its table again and again. The old tables keep dead
 * members alive through the young garbage collections. That costs more than all other bookkeeping.
 */
export class Linked {
  before: Linked | null = null;
  after: Linked | null = null;
}

/** A set in the order of adding. A member is in at most one such set at a time. */
export class LinkedSet<T extends Linked> {
  readonly #end = new Linked();
  /** The next member of each walk under way. */
  readonly #walks = new Set<{ next: Linked }>();
  #size = 0;

  constructor() {
    this.#end.before = this.#end;
    this.#end.after = this.#end;
  }

  get size(): number {
    return this.#size;
  }

  /** The oldest member by the time of adding; null: the set is empty. */
  get first(): T | null {
    return this.#size === 0 ? null : (this.#end.after as T);
  }

  /** The newest member by the time of adding; null: the set is empty. */
  get last(): T | null {
    return this.#size === 0 ? null : (this.#end.before as T);
  }

  add(member: T): void {
    if (member.after !== null) return;
    const last = this.#end.before!;
    member.before = last;
    member.after = this.#end;
    last.after = member;
    this.#end.before = member;
    this.#size++;
  }

  delete(member: T): void {
    const { before, after } = member;
    if (before === null || after === null) return;
    before.after = after;
    after.before = before;
    for (const walk of this.#walks) if (walk.next === member) walk.next = after;
    member.before = null;
    member.after = null;
    this.#size--;
  }

  /**
   * Walks in the order of adding. Any code may remove members during a walk, also while the walk
   * waits. A member that is removed before its turn is skipped.
   */
  *[Symbol.iterator](): Generator<T> {
    const walk = { next: this.#end.after! };
    this.#walks.add(walk);
    try {
      while (walk.next !== this.#end) {
        const at = walk.next;
        walk.next = at.after!;
        yield at as T;
      }
    } finally {
      this.#walks.delete(walk);
    }
  }
}
