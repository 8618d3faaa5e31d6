/** Whether a configuration's text holds what may be a secret: such a text is kept nowhere. */
import { locate, type Json } from '../../../src/config/locate.ts';
import { validateText } from '../../../src/config/validate.ts';
import { pathOf, textOf, type Path } from '../../../src/config/edit/path.ts';
import { isList, isObject } from './value.ts';

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
