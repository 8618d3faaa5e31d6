/**
 * Drafts that survive a reload: the browser stores each with the revision that it began from. A
 * page writes and removes only its own draft. A draft of another tab or an earlier visit is removed
 * when a person says so, or when it equals the configuration in use. A text that may hold a secret
 * is not stored.
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
  /** The draft has later changes that could not be stored. */
  readonly more: boolean;
};

/** Why a draft is not stored as it is now. */
export type Unkept =
  | { readonly kind: 'no_json' }
  /** `place`: a path in the form that problems use. */
  | { readonly kind: 'secret'; readonly place: string }
  /** The browser stores nothing, or its space is used up. */
  | { readonly kind: 'full' };

/** The browser's storage for this tab, or for all tabs. Every call may throw. */
export type Shelf = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

export type Begun = {
  /**
   * The draft that this tab wrote before a reload, if the configuration in use is still the same.
   */
  readonly resumed: KeptDraft | null;
  /** Other stored drafts, newest first. */
  readonly offered: readonly KeptDraft[];
};

const keptPlace = 'svc-builder-draft';
/** When there are more drafts, the oldest is removed. */
const draftsMax = 20;

export class KeptDrafts {
  readonly #tab: () => Shelf;
  readonly #all: () => Shelf;
  /** The id of the draft that this page writes. */
  #own = newId();

  /**
   * @param tab storage of this tab alone
   * @param all storage that every tab sees
   */
  constructor(tab: () => Shelf, all: () => Shelf) {
    this.#tab = tab;
    this.#all = all;
  }

  /** Starts a draft of this page for the configuration in use. */
  begin(base: Base): Begun {
    const last = tried(() => this.#tab().getItem(keptPlace)) ?? this.#own;
    const found = this.#list().filter((kept) => {
      if (kept.text === base.text) this.forget(kept.id);
      return kept.text !== base.text;
    });
    const resumed = found.find(({ id, revision }) => id === last && revision === base.revision);
    this.#own = newId();
    // A copied tab also has the id of the original's draft. So a continued draft gets a new id.
    if (resumed !== undefined) this.#rename(resumed);
    tried(() => this.#tab().setItem(keptPlace, this.#own));
    return { resumed: resumed ?? null, offered: found.filter((kept) => kept !== resumed) };
  }

  /** Drafts that other tabs and earlier visits have stored by now, newest first. */
  others(base: Base): readonly KeptDraft[] {
    return this.#list().filter(({ id, text }) => id !== this.#own && text !== base.text);
  }

  /** Stores the draft as it is now, or removes it if it equals the configuration in use. */
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

  /** Removes the draft that this page continued or wrote. */
  forgetOwn(): void {
    this.forget(this.#own);
  }

  /** The number of stored drafts, of all tabs and visits. */
  get count(): number {
    return this.#list().length;
  }

  /** Removes the drafts of all tabs and visits, unreadable ones too. */
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

  /** @returns null if there is no such draft, or it cannot be read */
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

/**
 * @returns null if the browser stores nothing or has no space: then a draft lasts as long as its
 *   page
 */
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

// Secrets: a text that may hold one is not stored.

/**
 * @returns the path of the first text that may be a secret, in the form that problems use; null if
 *   there is none
 */
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

/** Searches texts and keys, also in notes, whose content nothing else checks. */
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
  // A user name or password before the host of a URL.
  /:\/\/[^\s/?#]*@/,
  /[?&#][^=&\s]*(?:token|secret|key|pass|pwd|auth|sig|credential)[^=&\s]*=[^&\s]/i,
  /\bbearer\s+(?=\S*\d)[\w.~+/=-]{8,}/i,
  // The prefixes of keys of well-known issuers.
  /(?<![A-Za-z0-9])(?:[spr]k[-_]|gsk_|hf_|xox[a-z]-|glpat-|AIza|eyJ)[\w-]{6,}/,
  /(?<![A-Za-z0-9])(?:gh[opsur]|github_pat)_\w{6,}/,
  /(?<!\d)\d{6,}:[\w-]{30,}/,
];

/** Matches known forms of secrets, and long runs of letters and digits that are no name. */
export function mayBeSecret(text: string): boolean {
  if (shapes.some((shape) => shape.test(text))) return true;
  return [...text.matchAll(/(?<!sha256:)(?<![A-Za-z0-9])[A-Za-z0-9]{20,}/g)].some(([run]) => {
    if (/^[0-9a-f]{24,}$/i.test(run) && /[a-f]/i.test(run)) return true;
    const digits = run.replace(/\D/g, '').length;
    const mixed = /[a-z]/.test(run) && /[A-Z]/.test(run);
    return digits < run.length && digits >= (mixed ? 3 : 5);
  });
}
