/**
 * A part of a release: one file or a few related files that `npm run release` makes into its
 * folder. The same commit gives the same bytes in any folder and at any time. A part uses only the
 * time `epochS`, only sorted lists, and no path of the machine. Some bytes still depend on the
 * machine: the image takes Debian's C library and certificates, `strip` of binutils writes each
 * Node, and `dpkg-deb` packs. So the bytes are the same only with the same versions of Debian's
 * packages and of npm.
 */

/** The inputs of every part. Each function does its work once, for all callers. */
export type Making = {
  /** Of the checkout, absolute. */
  readonly root: string;
  /** The output folder, absolute; complete once `npm run release` has ended with 0. */
  readonly folder: string;
  /**
   * A folder for temporary files, removed at the end; a part makes a subfolder with its own name.
   */
  readonly scratch: string;
  /** The version of package.json. */
  readonly version: string;
  /** Whether all files of the folder come from one commit. */
  readonly mayBeSigned: boolean;
  /** The time of every file and header, in seconds: `SOURCE_DATE_EPOCH`. */
  readonly epochS: number;
  /** @returns the tarball for npm without a Node, absolute */
  tarball(): Promise<string>;
  /** @returns the tarball that contains a Node, absolute */
  tarballWithNode(): Promise<string>;
  /**
   * Installs the tarball on Linux x64: `bin/`, `dist/`, `web/dist/`, `node_modules/` and the other
   * published files, without a Node.
   * @returns its folder, absolute; parts share it, so copy what you change
   */
  program(): Promise<string>;
  /**
   * Strips the Node of this machine (`stripNode`), with binutils.
   * @returns its path, absolute; parts share it too
   */
  node(): Promise<string>;
};

export type Made =
  /** The names of the new files in the release's folder. */
  | { readonly kind: 'made'; readonly names: readonly string[] }
  /** This machine lacks a tool. @property why a sentence that says what to do about it */
  | { readonly kind: 'not made'; readonly why: string };

export type Part = {
  /** The name for `npm run release -- <name>`. */
  readonly name: string;
  make(making: Making): Promise<Made>;
};
