/** The channels in which somebody wrote to svc, the oldest first; at most 200. */
export type KnownChannel = { readonly id: string; readonly direct: boolean };

const placesMax = 200;

export class KnownChannels {
  readonly #direct = new Map<string, boolean>();

  /** @param text a former value of `text`; null: there is none */
  constructor(text: string | null) {
    for (const place of parse(text)) this.#direct.set(place.id, place.direct);
  }

  /** Newest first. */
  get all(): readonly KnownChannel[] {
    return [...this.#direct].map(([id, direct]) => ({ id, direct })).reverse();
  }

  get text(): string {
    return JSON.stringify([...this.#direct].map(([id, direct]) => (direct ? `d${id}` : id)));
  }

  /** @returns whether the channel is new; it may have displaced the oldest one */
  add({ id, direct }: KnownChannel): boolean {
    if (this.#direct.has(id)) return false;
    this.#direct.set(id, direct);
    if (this.#direct.size > placesMax) this.remove(this.#direct.keys().next().value!);
    return true;
  }

  remove(id: string): void {
    this.#direct.delete(id);
  }
}

function parse(text: string | null): KnownChannel[] {
  try {
    const stored: unknown = JSON.parse(text ?? '[]');
    if (!Array.isArray(stored)) return [];
    return stored
      .filter((one): one is string => typeof one === 'string' && /^d?[0-9]{1,20}$/.test(one))
      .map((one) => ({ id: one.replace('d', ''), direct: one.startsWith('d') }));
  } catch {
    return [];
  }
}
