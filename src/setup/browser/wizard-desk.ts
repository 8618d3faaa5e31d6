/**
 * What the page of the wizard is about. The server knows no more of the wizard than this: a state
 * to show, and a place to put answers.
 */
export interface WizardDesk<Shown extends object = object> {
  /** Rises with every change of what is shown. */
  readonly version: number;
  /** What a person is shown now. It goes to the page as it is: no value of a secret is in it. */
  shown(): Shown;
  /** Resolves once the version is another one than `known`, or `stop` aborts. Never rejects. */
  changed(known: number, stop: AbortSignal): Promise<void>;
  /**
   * Takes what a person answered; what follows from it goes on by itself, and is shown.
   * @param sent as it came: whatever JSON it may be
   * @returns why it was not taken, as a sentence; null: it was
   */
  answer(sent: unknown): string | null;
}
