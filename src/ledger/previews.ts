/** Messages on platforms that show replies which are still being written. */
export interface Previews<Claim> {
  /**
   * Whether the reply comes next in its conversation. Else one before it is still to be delivered,
   * and would come behind what is shown of this one.
   */
  isNext(claim: Claim): boolean;
  /**
   * From now on the message has that `preview`, whoever works on it next. False: it is not written,
   * or the claim is over.
   */
  keep(claim: Claim, preview: string): Promise<boolean>;
  /** What its message has now: a claim is as it was when it was made. Null: nothing. */
  of(claim: Claim): string | null;
}
