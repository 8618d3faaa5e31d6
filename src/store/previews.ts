/** Messages on platforms that show replies which are still being written. */
export interface Previews<Claim> {
  /**
   * From now on the message has that `preview`, whoever works on it next. False: it is not written,
   * or the claim is over.
   */
  keep(claim: Claim, preview: string): Promise<boolean>;
}
