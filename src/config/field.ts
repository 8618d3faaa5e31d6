/**
 * The language of the schema: a field is plain data. Fields give the check of a document's shape,
 * the TypeScript type of the document, the JSON Schema, the reference and the builder's form.
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
  /** An absent value, null, or an empty text is a problem. */
  readonly required?: true;
  /** The field is not in the first contract, and is always optional. */
  readonly added?: true;
  readonly lifetime?: Lifetime;
};

/**
 * How long a value lives. Absent: as long as a running configuration, so that it can change while
 * svc runs. `process`: a change needs a restart. `port` is for an address: only another host on the
 * same port needs a restart, since the old listener holds the port until the new one answers.
 */
type Lifetime = 'process' | 'port';

/** The form of a text. `config/formats.ts` checks each format. */
export type Format =
  | 'env'
  | 'url'
  | 'base_url'
  | 'address'
  | 'url_path'
  | 'time'
  | 'digits'
  | 'channel_name'
  | 'route_command'
  | 'approver'
  | 'server_name'
  | 'mcp_tool';

export type TextField = Common & {
  readonly type: 'text';
  readonly format?: Format;
  /** A whole number may stand for the text of its digits. */
  readonly numbers?: true;
  readonly default?: string;
  /** Describes a default that depends on something else, for people only. */
  readonly defaultNote?: string;
};

/** One of several names. A file may use `synonyms`, and svc turns them into these names. */
export type ChoiceField = Common & {
  readonly type: 'choice';
  readonly names: readonly string[];
  /** Texts of this format are allowed, too: names that only the file defines. */
  readonly others?: 'mcp_tool' | 'channel_name';
  readonly synonyms?: Readonly<Record<string, string>>;
  readonly default?: string;
  readonly defaultNote?: string;
};

export type IntegerField = Common & {
  readonly type: 'integer';
  readonly minimum: number;
  readonly maximum?: number;
  /** A number above `maximum` is a problem, or becomes the maximum with a warning. */
  readonly above?: 'problem' | 'clamped';
  /** 0 stands for the default. */
  readonly zeroIsDefault?: true;
  readonly default?: number;
  readonly defaultNote?: string;
};

/** A number that may have a fraction, such as an amount of money. */
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
  /** With the block of this name beside it, the list may be absent or empty. */
  readonly unless?: string;
  readonly default?: readonly string[];
  readonly defaultNote?: string;
};

/** Names of environment variables. The keys are the names that another program uses. */
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

/**
 * If every field of `when` has its value, the fields of `requires` must be there, and the fields of
 * `forbids` must not.
 */
export type Condition = {
  readonly when: Readonly<Record<string, string>>;
  readonly requires?: readonly string[];
  readonly forbids?: readonly string[];
  /** Fields that then have this one allowed value. */
  readonly only?: Readonly<Record<string, string>>;
};

type Present = { readonly required: true } | { readonly default: unknown };
type OtherNames<F> = F extends { readonly others: 'mcp_tool' }
  ? `mcp.${string}`
  : F extends { readonly others: 'channel_name' }
    ? string
    : never;
type Atom<F> = F extends { readonly names: readonly (infer Name)[] }
  ? Name | OtherNames<F>
  : F extends { readonly type: 'map' }
    ? Readonly<Record<string, string>>
    : F extends { readonly type: 'text' }
      ? string
      : F extends { readonly type: 'integer' | 'decimal' }
        ? number
        : boolean;

/** The field's value in a document without problems: defaults filled in, absent is null. */
export type Whole<F> = F extends { readonly items: infer Item }
  ? readonly Whole<Item>[]
  : F extends { readonly fields: infer Fields }
    ? {
        readonly [Key in keyof Fields]:
          | Whole<Fields[Key]>
          | (Fields[Key] extends Present ? never : null);
      }
    : Atom<F>;

/** The same with problems: a wrong value, or a missing required one, is undefined. */
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
