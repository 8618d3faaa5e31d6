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

/**
 * A set whose members carry their own links, so that adding and removing allocate nothing. Where
 * members come and go by the thousand a second, a Set's table is made anew again and again. The old
 * tables keep dead members alive through the young collections, which costs more than the rest of
 * the bookkeeping together.
 */
export class Linked {
  before: Linked | null = null;
  after: Linked | null = null;
}

/** A member is in at most one such set at a time. */
export class LinkedSet<T extends Linked> {
  readonly #end = new Linked();
  /** For each walk under way, the member at which it goes on. */
  readonly #walks = new Set<{ next: Linked }>();
  #size = 0;

  constructor() {
    this.#end.before = this.#end;
    this.#end.after = this.#end;
  }

  get size(): number {
    return this.#size;
  }

  /** The member that was added before all others; null: the set is empty. */
  get first(): T | null {
    return this.#size === 0 ? null : (this.#end.after as T);
  }

  /** The member that was added after all others; null: the set is empty. */
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
   * In the order of adding. Members may be removed on the way, also by others while a walk waits; a
   * member that is removed before its turn is skipped.
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
