/**
 * The small language that the schema is written in: a field is plain data, and from it come the
 * check of a document's shape, the TypeScript type of the document, the JSON Schema, the
 * reference and the builder's form.
 */
export type Field =
  | TextField
  | ChoiceField
  | IntegerField
  | DecimalField
  | BooleanField
  | ListField
  | MapField
  | ObjectField;

type Common = {
  /** One sentence (or two) for the person who writes the file. */
  readonly description: string;
  /** Required: absent, null and (for texts) empty are problems. */
  readonly required?: true;
  /** Not in the first contract: added since, always optional. */
  readonly added?: true;
  readonly lifetime?: Lifetime;
};

/**
 * What a value belongs to. Absent: to a plan, so that it can change while svc runs. `process`: a
 * change needs a restart. `port`, of an address: only another host on the same port needs a
 * restart, since the old listener holds that port until the new one answers.
 */
type Lifetime = 'process' | 'port';

/** What a text must look like; `config/formats.ts` checks each. */
export type Format =
  | 'env'
  | 'url'
  | 'base_url'
  | 'address'
  | 'url_path'
  | 'time'
  | 'digits'
  | 'approver'
  | 'server_name'
  | 'mcp_tool';

type TextField = Common & {
  readonly type: 'text';
  readonly format?: Format;
  readonly default?: string;
  /** The default where it depends on something else, for the reference only. */
  readonly defaultNote?: string;
};

/** One of some names. A file may use `synonyms` for them, which are turned into these names. */
export type ChoiceField = Common & {
  readonly type: 'choice';
  readonly names: readonly string[];
  /** Texts of this format may stand there as well: names that only the file knows. */
  readonly others?: 'mcp_tool';
  readonly synonyms?: Readonly<Record<string, string>>;
  readonly default?: string;
};

export type IntegerField = Common & {
  readonly type: 'integer';
  readonly minimum: number;
  readonly maximum?: number;
  /** A number above `maximum` is a problem, or is taken as the maximum with a warning. */
  readonly above?: 'problem' | 'clamped';
  /** 0 stands for the default. */
  readonly zeroIsDefault?: true;
  readonly default?: number;
  readonly defaultNote?: string;
};

/** A number that may have a fraction, as an amount of money has. */
export type DecimalField = Common & {
  readonly type: 'decimal';
  readonly minimum: number;
  readonly maximum: number;
  readonly default?: number;
  readonly defaultNote?: string;
};

type BooleanField = Common & { readonly type: 'boolean'; readonly default?: boolean };

export type ListField = Common & {
  readonly type: 'list';
  readonly items: Field;
  readonly itemsMin?: number;
  readonly default?: readonly string[];
};

/** Names of environment variables, each under the name that another program knows it by. */
export type MapField = Common & {
  readonly type: 'map';
  readonly entriesMax: number;
  readonly default: Readonly<Record<string, string>>;
};

export type ObjectField = Common & {
  readonly type: 'object';
  readonly fields: Readonly<Record<string, Field>>;
  readonly conditions?: readonly Condition[];
  /** Absent is the same as `{}`. */
  readonly default?: 'empty';
};

/** Where every named field holds its value, these fields must be there, and those must not. */
export type Condition = {
  readonly when: Readonly<Record<string, string>>;
  readonly requires?: readonly string[];
  readonly forbids?: readonly string[];
  /** Fields whose only allowed value is then this one. */
  readonly only?: Readonly<Record<string, string>>;
};

type Present = { readonly required: true } | { readonly default: unknown };
type Atom<F> = F extends { readonly names: readonly (infer Name)[] }
  ? Name | (F extends { readonly others: 'mcp_tool' } ? `mcp.${string}` : never)
  : F extends { readonly type: 'map' }
    ? Readonly<Record<string, string>>
    : F extends { readonly type: 'text' }
      ? string
      : F extends { readonly type: 'integer' | 'decimal' }
        ? number
        : boolean;

/** A document of this field without problems: defaults filled in, absent is null. */
export type Whole<F> = F extends { readonly items: infer Item }
  ? readonly Whole<Item>[]
  : F extends { readonly fields: infer Fields }
    ? {
        readonly [Key in keyof Fields]:
          | Whole<Fields[Key]>
          | (Fields[Key] extends Present ? never : null);
      }
    : Atom<F>;

/** The same with problems: a value that is wrong, or missing though required, is undefined. */
export type Draft<F> = F extends { readonly items: infer Item }
  ? readonly (Draft<Item> | undefined)[]
  : F extends { readonly fields: infer Fields }
    ? {
        readonly [Key in keyof Fields]:
          | Draft<Fields[Key]>
          | (Fields[Key] extends Present ? never : null)
          | undefined;
      }
    : Atom<F>;
