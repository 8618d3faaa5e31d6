/** What a flight is made of, and what comes back of it. */
export type Asked = { readonly text: string; readonly values: readonly unknown[] };

/**
 * One statement of a flight. `again` asks for the same answer once the flight is known to have
 * landed and its own answer was lost; left out: nobody needs the answer.
 */
export type Statement = Asked & { readonly again?: Asked };

export type Rows = readonly Readonly<Record<string, unknown>>[];

/** The statements of one group, and what their answers say, in the order of the statements. */
export type Composed<Landed> = {
  readonly statements: readonly Statement[];
  readonly landed: (answers: readonly Rows[]) => Landed;
};
