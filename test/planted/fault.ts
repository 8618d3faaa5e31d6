/** A fault planted into a copy of the sources, one at a time: some test must turn red. */
export type Fault = {
  /** The wrong behaviour of svc, as a sentence. */
  readonly name: string;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /**
   * Test files, or proofs of test/chaos/, to run first where the tests near the file stay green.
   */
  readonly seenBy?: readonly string[];
};
