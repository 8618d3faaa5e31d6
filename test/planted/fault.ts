/** A fault that is planted into a copy of the sources, one at a time: some test must turn red. */
export type Fault = {
  /** What svc would do wrong, as a sentence. */
  readonly name: string;
  readonly file: string;
  /** It stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /**
   * Test files, or proofs of test/chaos/, that are run first, where those near the file do not see
   * it.
   */
  readonly seenBy?: readonly string[];
};
