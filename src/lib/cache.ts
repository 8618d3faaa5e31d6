/**
 * A cache with a weight limit. A used value is in the young half. When the young half is full, it
 * becomes the old half, and the unused values of the former old half are gone. So a value stays at
 * least until half of the weight has been used after it. A use costs one look-up and allocates
 * nothing. (A list in order of use would change at every use.)
 */
export class Cache<K, V> {
  readonly #halfMax: number;
  #young = new Map<K, Entry<V>>();
  #old = new Map<K, Entry<V>>();
  #youngWeight = 0;
  #oldWeight = 0;

  /** @param weightMax in the unit of the weights for `put` */
  constructor(weightMax: number) {
    this.#halfMax = weightMax / 2;
  }

  get weight(): number {
    return this.#youngWeight + this.#oldWeight;
  }

  get(key: K): V | undefined {
    const entry = this.#young.get(key) ?? this.#renew(key);
    return entry?.value;
  }

  put(key: K, value: V, weight: number): void {
    const entry = this.#young.get(key) ?? this.#renew(key);
    if (entry === undefined) {
      this.#young.set(key, { value, weight });
      this.#youngWeight += weight;
    } else {
      this.#youngWeight += weight - entry.weight;
      entry.value = value;
      entry.weight = weight;
    }
    if (this.#youngWeight > this.#halfMax) this.#age();
  }

  delete(key: K): void {
    const young = this.#young.get(key);
    const old = this.#old.get(key);
    this.#youngWeight -= young?.weight ?? 0;
    this.#oldWeight -= old?.weight ?? 0;
    this.#young.delete(key);
    this.#old.delete(key);
  }

  #renew(key: K): Entry<V> | undefined {
    const entry = this.#old.get(key);
    if (entry === undefined) return undefined;
    this.#old.delete(key);
    this.#young.set(key, entry);
    this.#oldWeight -= entry.weight;
    this.#youngWeight += entry.weight;
    return entry;
  }

  #age(): void {
    this.#old = this.#young;
    this.#oldWeight = this.#youngWeight;
    this.#young = new Map();
    this.#youngWeight = 0;
  }
}

type Entry<V> = { value: V; weight: number };

/** Makes the entry the newest one of the map, and drops the oldest one beyond `entriesMax`. */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V, entriesMax: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= entriesMax) return;
  const [oldest] = map.keys();
  map.delete(oldest!);
}
