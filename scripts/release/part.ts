/**
 * A part of a release: one thing, or a few that belong together, that `npm run release` makes into
 * its folder. What it makes of a commit is the same bytes in whatever folder and at whatever time:
 * no time but `epochS`, no order but a sorted one, no path of the machine. Some of it comes from
 * the machine all the same: the image takes Debian's C library and certificates, `strip` of
 * binutils writes each Node, and `dpkg-deb` packs. So it is the same bytes only where the versions
 * of Debian's packages, and of the npm, are the same.
 */

/** What every part is made of. Each of the functions does its work once, whoever asks. */
export type Making = {
  /** Of the checkout, absolute. */
  readonly root: string;
  /** Where the release is put, absolute; whole once `npm run release` has ended with 0. */
  readonly folder: string;
  /** A folder that is removed at the end, in which a part may make one with its own name. */
  readonly scratch: string;
  /** As package.json has it. */
  readonly version: string;
  /** Whether all of the folder will be of one commit. */
  readonly mayBeSigned: boolean;
  /** The time that every file and header bears, in seconds: `SOURCE_DATE_EPOCH`. */
  readonly epochS: number;
  /** @returns the tarball for npm without a Node, absolute */
  tarball(): Promise<string>;
  /** @returns the tarball that brings a Node along, absolute */
  tarballWithNode(): Promise<string>;
  /**
   * What a clean install of the tarball makes on Linux x64: `bin/`, `dist/`, `web/dist/`,
   * `node_modules/` and what else is published; without a Node.
   * @returns its folder, absolute; it is shared, so a part copies what it changes
   */
  program(): Promise<string>;
  /**
   * The Node of this machine, stripped (`stripNode`), which wants binutils.
   * @returns it, absolute; it is shared as well
   */
  node(): Promise<string>;
};

export type Made =
  /** The names of what was made, in the release's folder. */
  | { readonly kind: 'made'; readonly names: readonly string[] }
  /** This machine cannot make it. @property why a sentence, with what to do about it */
  | { readonly kind: 'not made'; readonly why: string };

export type Part = {
  /** As `npm run release -- <name>` has it. */
  readonly name: string;
  make(making: Making): Promise<Made>;
};
