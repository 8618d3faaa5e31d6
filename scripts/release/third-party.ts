/** Collects the licences of all packages in the published files, as these licences require. */
import { licenceText, type Bundled } from '../bundled.ts';

const line = '-'.repeat(80);

/** @returns the text: every licence once, after its packages */
export function thirdPartyText(root: string, packages: readonly Bundled[]): string {
  const text = licencesOf(root, packages);
  return `The files in dist/ and web/dist/ hold parts of these packages.\n\n${text}`;
}

/** The same for any packages below that folder, without a sentence on their place. */
export function licencesOf(root: string, packages: readonly Bundled[]): string {
  const under = new Map<string, string[]>();
  for (const one of packages) {
    const text = licenceText(root, one);
    const names = under.get(text) ?? [];
    under.set(text, [...names, `${one.name} ${one.version} (${one.license})`]);
  }
  const parts = [...under].map(([text, names]) => `${line}\n${names.join('\n')}\n\n${text}\n`);
  return parts.join('\n');
}
