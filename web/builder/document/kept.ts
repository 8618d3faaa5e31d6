/**
 * Drafts that survive a reload: kept by the browser, each with the revision that it began from. A
 * page writes and removes its own draft alone. A draft of another tab or an earlier visit is
 * removed when a person says so, or when it equals what is in use. A text that may hold a secret is
 * not kept.
 */
import { isDirty, type Base, type Draft } from './store.ts';
import { locate, type Json } from '../../../src/config/locate.ts';
import { validateText } from '../../../src/config/validate.ts';
import { pathOf, textOf, type Path } from '../../../src/config/edit/path.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList } from './value.ts';

export type KeptDraft = {
  readonly id: string;
  readonly text: string;
  readonly revision: string;
  readonly savedAt: number;
  /** More was written after that, which could not be kept. */
  readonly more: boolean;
};

/** Why a draft is not kept as it is now. */
export type Unkept =
  | { readonly kind: 'no_json' }
  /** `place` as a problem names it. */
  | { readonly kind: 'secret'; readonly place: string }
  /** The browser keeps nothing, or no more. */
  | { readonly kind: 'full' };

/** What the browser keeps for this tab, or for all of them; it may throw at anything. */
export type Shelf = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

export type Begun = {
  /** What this tab wrote before a reload, where nothing else came into use since. */
  readonly resumed: KeptDraft | null;
  /** Other drafts that are kept, newest first. */
  readonly offered: readonly KeptDraft[];
};

const keptPlace = 'svc-builder-draft';
/** At most so many drafts are kept; the oldest goes first. */
const draftsMax = 20;

export class KeptDrafts {
  readonly #tab: () => Shelf;
  readonly #all: () => Shelf;
  /** The draft that this page writes. */
  #own = newId();

  /** @param tab lasts as long as the tab; `all` is seen by every tab */
  constructor(tab: () => Shelf, all: () => Shelf) {
    this.#tab = tab;
    this.#all = all;
  }

  /** The page shows what is in use. It writes a draft of its own from now on. */
  begin(base: Base): Begun {
    const last = tried(() => this.#tab().getItem(keptPlace)) ?? this.#own;
    const found = this.#list().filter((kept) => {
      if (kept.text === base.text) this.forget(kept.id);
      return kept.text !== base.text;
    });
    const resumed = found.find(({ id, revision }) => id === last && revision === base.revision);
    this.#own = newId();
    // A copied tab has the id of the original's draft as well, so a draft that goes on gets a new
    // id.
    if (resumed !== undefined) this.#rename(resumed);
    tried(() => this.#tab().setItem(keptPlace, this.#own));
    return { resumed: resumed ?? null, offered: found.filter((kept) => kept !== resumed) };
  }

  /** Drafts that other tabs and earlier visits have kept by now, newest first. */
  others(base: Base): readonly KeptDraft[] {
    return this.#list().filter(({ id, text }) => id !== this.#own && text !== base.text);
  }

  /** Keeps the draft as it is now, or forgets it where it equals what is in use. */
  keep(draft: Draft): Unkept | null {
    const { base, text, readable } = draft;
    if (base === null) return null;
    if (!isDirty(draft)) {
      this.forget(this.#own);
      return null;
    }
    const secret = readable ? secretPlace(text) : null;
    if (!readable) return this.#unkept({ kind: 'no_json' });
    if (secret !== null) return this.#unkept({ kind: 'secret', place: secret });
    const { revision } = base;
    const kept = { id: this.#own, text, revision, savedAt: Date.now(), more: false };
    return this.#put(kept) ? null : this.#unkept({ kind: 'full' });
  }

  /** Forgets the draft that the page went on with, or wrote. */
  forgetOwn(): void {
    this.forget(this.#own);
  }

  /** How many drafts are kept, of all tabs and visits. */
  get count(): number {
    return this.#list().length;
  }

  /** Forgets the drafts of all tabs and visits, also those that cannot be read. */
  forgetAll(): void {
    const names = this.#names();
    tried(() => names.forEach((name) => this.#all().removeItem(name)));
  }

  forget(id: string): void {
    tried(() => this.#all().removeItem(`${keptPlace}.${id}`));
  }

  #unkept(why: Unkept): Unkept {
    const kept = this.#read(this.#own);
    if (kept !== null && !kept.more) this.#put({ ...kept, more: true });
    return why;
  }

  #rename(kept: KeptDraft): void {
    if (this.#put({ ...kept, id: this.#own })) this.forget(kept.id);
    else this.#own = kept.id;
  }

  #put({ id, ...kept }: KeptDraft): boolean {
    const done = tried(() => {
      this.#all().setItem(`${keptPlace}.${id}`, JSON.stringify(kept));
      return true;
    });
    if (done !== true) return false;
    const others = this.#list().filter((other) => other.id !== id);
    for (const { id: old } of others.slice(draftsMax - 1)) this.forget(old);
    return true;
  }

  /** Newest first. */
  #list(): readonly KeptDraft[] {
    return this.#names()
      .map((name) => this.#read(name.slice(keptPlace.length + 1)))
      .filter((kept) => kept !== null)
      .sort((a, b) => b.savedAt - a.savedAt);
  }

  #names(): readonly string[] {
    const shelf = tried(this.#all);
    const names = Array.from({ length: shelf?.length ?? 0 }, (_, at) => shelf?.key(at) ?? '');
    return names.filter((name) => name.startsWith(`${keptPlace}.`));
  }

  /** null: there is no such draft, or it cannot be read. */
  #read(id: string): KeptDraft | null {
    const kept = tried((): unknown =>
      JSON.parse(this.#all().getItem(`${keptPlace}.${id}`) ?? 'null'),
    );
    if (typeof kept !== 'object' || kept === null) return null;
    const { text, revision, savedAt, more } = kept as Partial<Record<keyof KeptDraft, unknown>>;
    if (typeof text !== 'string' || typeof revision !== 'string') return null;
    if (typeof savedAt !== 'number') return null;
    return { id, text, revision, savedAt, more: more === true };
  }
}

/** null where the browser keeps nothing, or no more: then a draft lasts as long as its page. */
function tried<T>(what: () => T): T | null {
  try {
    return what();
  } catch {
    return null;
  }
}

function newId(): string {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return `${high!.toString(36)}${low!.toString(36)}`;
}

// Whether a configuration's text holds what may be a secret: such a text is kept nowhere.

/** The place of the first text that may be a secret, as a problem names it; null: there is none. */
export function secretPlace(text: string): string | null {
  for (const { code, path } of validateText(text).problems) {
    if (code === 'value_not_name') return path;
    const key = String(pathOf(path).at(-1) ?? '');
    if (code === 'unknown_key' && /token|secret|key|pass|auth/i.test(key)) return path;
  }
  const found = locate(text).value;
  const place = found === undefined ? null : placeIn(found, []);
  return place === null ? null : textOf(place);
}

/** Looks at texts and at keys, in notes too, since nobody checks the content of notes. */
function placeIn(value: Json, path: Path): Path | null {
  if (typeof value === 'string') return mayBeSecret(value) ? path : null;
  const inner = isList(value) ? [...value.entries()] : isObject(value) ? Object.entries(value) : [];
  for (const [step, one] of inner) {
    if (typeof step === 'string' && mayBeSecret(step)) return path;
    const place = placeIn(one, [...path, step]);
    if (place !== null) return place;
  }
  return null;
}

const shapes: readonly RegExp[] = [
  // A user name or password before the host of an address.
  /:\/\/[^\s/?#]*@/,
  /[?&#][^=&\s]*(?:token|secret|key|pass|pwd|auth|sig|credential)[^=&\s]*=[^&\s]/i,
  /\bbearer\s+(?=\S*\d)[\w.~+/=-]{8,}/i,
  // How the keys of well-known issuers begin.
  /(?<![A-Za-z0-9])(?:[spr]k[-_]|gsk_|hf_|xox[a-z]-|glpat-|AIza|eyJ)[\w-]{6,}/,
  /(?<![A-Za-z0-9])(?:gh[opsur]|github_pat)_\w{6,}/,
  /(?<!\d)\d{6,}:[\w-]{30,}/,
];

/** Known shapes of secrets, and long runs of letters and digits that nobody would name. */
export function mayBeSecret(text: string): boolean {
  if (shapes.some((shape) => shape.test(text))) return true;
  return [...text.matchAll(/(?<!sha256:)(?<![A-Za-z0-9])[A-Za-z0-9]{20,}/g)].some(([run]) => {
    if (/^[0-9a-f]{24,}$/i.test(run) && /[a-f]/i.test(run)) return true;
    const digits = run.replace(/\D/g, '').length;
    const mixed = /[a-z]/.test(run) && /[A-Z]/.test(run);
    return digits < run.length && digits >= (mixed ? 3 : 5);
  });
}
