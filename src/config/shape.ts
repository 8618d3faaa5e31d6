/**
 * Checks a document against the schema, field by field, and turns it into a draft. It fills in
 * defaults, turns synonyms into the contract's names, and clamps limits. A wrong value becomes
 * undefined, so that the next checks can still use all other values.
 */
import { isObject } from '../lib/json.ts';
import type {
  ChoiceField,
  Condition,
  DecimalField,
  Field,
  IntegerField,
  MapField,
  ObjectField,
  TextField,
} from './field.ts';
import { formatFault } from './formats.ts';
import { memberPath, type Json, type JsonObject } from './locate.ts';
import { nearest } from './nearest.ts';
import { quote } from './quote.ts';
import type { ProblemList } from './problems.ts';
import { schema, type DraftDocument } from './schema.ts';

/** @returns undefined when the document is not an object */
export function checkShape(value: Json, problems: ProblemList): DraftDocument | undefined {
  return new ShapeCheck(problems).field(schema, value, '') as DraftDocument | undefined;
}

/** Whether a key is allowed anywhere: a person's note, or the editor's link to the schema. */
export function isIgnoredKey(key: string): boolean {
  return key === '$schema' || key.startsWith('_');
}

class ShapeCheck {
  readonly #problems: ProblemList;

  constructor(problems: ProblemList) {
    this.#problems = problems;
  }

  /** @returns null: absent; undefined: wrong, and a problem has been added */
  field(field: Field, value: Json | undefined, path: string): unknown {
    if (value === undefined || value === null || (value === '' && isText(field))) {
      return this.#absent(field, path);
    }
    switch (field.type) {
      case 'text':
        return this.#text(field, value, path);
      case 'choice':
        return this.#choice(field, value, path);
      case 'integer':
        return this.#integer(field, value, path);
      case 'decimal':
        return this.#decimal(field, value, path);
      case 'boolean':
        return typeof value === 'boolean' ? value : this.#wrongType(value, path, 'true or false');
      case 'list':
        if (!Array.isArray(value)) return this.#wrongType(value, path, 'a list, [ … ]');
        if (value.length < (field.itemsMin ?? 0)) {
          this.#problems.add('too_few', path, 'the list is empty', 'Put at least one entry in it.');
          return undefined;
        }
        return value.map((item: Json, index) => this.#item(field.items, item, `${path}[${index}]`));
      case 'map':
        return this.#map(field, value, path);
      case 'object':
        if (!isObject(value)) return this.#wrongType(value, path, 'an object, { … }');
        return this.#object(field, value, path);
      default:
        return field satisfies never;
    }
  }

  #absent(field: Field, path: string): unknown {
    if (field.required === true) {
      const what = field.type === 'text' && this.#problems.has(path) ? 'empty' : 'missing';
      const message = `this field is ${what}, and it is required`;
      const remedy = `Add it: ${withoutBackticks(field.description)}`;
      this.#problems.add('required', path, message, remedy);
      return undefined;
    }
    if (field.type === 'object') {
      return field.default === 'empty' ? this.#object(field, {}, path) : null;
    }
    return field.default ?? null;
  }

  /** An entry of a list is never absent. Only in a list of plain texts, rules check empty ones. */
  #item(field: Field, value: Json, path: string): unknown {
    if (value === '' && field.type === 'text' && field.format === undefined) return '';
    if (value !== null && value !== '') return this.field(field, value, path);
    const message = 'this entry of the list is empty';
    this.#problems.add('wrong_type', path, message, 'Write one, or remove it.');
    return undefined;
  }

  #object(field: ObjectField, value: JsonObject, path: string): unknown {
    const draft: Record<string, unknown> = {};
    const unknown = Object.keys(value).filter(
      (key) => !isIgnoredKey(key) && !Object.hasOwn(field.fields, key),
    );
    for (const key of unknown) this.#unknownKey(field, key, path);
    for (const [key, inner] of Object.entries(field.fields)) {
      // Report one fault once: a field with a misspelt name is not missing, too.
      const isMisspelt = hasMisspelling(key, value, field, unknown);
      const own = withoutNeed(inner, value);
      draft[key] = isMisspelt ? undefined : this.field(own, value[key], memberPath(path, key));
    }
    for (const condition of field.conditions ?? []) this.#condition(condition, draft, path);
    return draft;
  }

  #map(field: MapField, value: Json, path: string): unknown {
    if (!isObject(value)) return this.#wrongType(value, path, 'an object, { … }');
    const entries = Object.entries(value).filter(([key]) => !isIgnoredKey(key));
    if (entries.length > field.entriesMax) {
      const remedy = `Write ${field.entriesMax} at most.`;
      this.#problems.add('out_of_range', path, 'these are too many entries', remedy);
      return undefined;
    }
    const draft: Record<string, string> = {};
    for (const [key, inner] of entries) {
      const at = memberPath(path, key);
      const fault = formatFault('env', key);
      if (fault !== null) {
        const remedy = 'A variable has letters, digits and _, and no digit first.';
        this.#problems.addAtKey('bad_name', at, 'no variable has such a name', remedy);
        continue;
      }
      const name = this.field({ ...envField, description: field.description }, inner, at);
      if (typeof name === 'string') draft[key] = name;
    }
    return draft;
  }

  #condition(condition: Condition, draft: Record<string, unknown>, path: string): void {
    const holds = Object.entries(condition.when).every(([key, name]) => draft[key] === name);
    if (!holds) return;
    const pairs = Object.entries(condition.when).map(([key, name]) => `${key} ${name}`);
    const reason = pairs.join(' with ');
    for (const key of condition.requires ?? []) {
      if (draft[key] !== null) continue;
      const only = condition.only?.[key];
      const remedy = only === undefined ? `Add ${key}.` : `Add "${key}": "${only}".`;
      const message = `${key} is missing, and ${reason} needs it`;
      this.#problems.add('required', memberPath(path, key), message, remedy);
    }
    for (const key of condition.forbids ?? []) {
      if (draft[key] === null || !this.#problems.has(memberPath(path, key))) continue;
      const message = `${reason} takes no ${key}`;
      this.#problems.addAtKey('not_here', memberPath(path, key), message, 'Remove it.');
    }
    for (const [key, only] of Object.entries(condition.only ?? {})) {
      if (draft[key] === null || draft[key] === undefined || draft[key] === only) continue;
      const message = `${reason} knows only one ${key}`;
      const remedy = `Write "${key}": "${only}".`;
      this.#problems.add('unknown_value', memberPath(path, key), message, remedy);
    }
  }

  #unknownKey(field: ObjectField, key: string, path: string): void {
    const remedy = (): string => {
      const known = Object.keys(field.fields);
      const near = nearest(key, known);
      return near === null
        ? `Remove it, or begin it with _ to keep it as a note. Known here: ${known.join(', ')}.`
        : `Did you mean ${near}? A key that begins with _ is kept as a note.`;
    };
    const message = 'there is no such field here';
    this.#problems.addAtKey('unknown_key', memberPath(path, key), message, remedy);
  }

  #text(
    { format, numbers }: Pick<TextField, 'format' | 'numbers'>,
    value: Json,
    path: string,
  ): unknown {
    if (numbers === true && typeof value === 'number') return this.#digits(value, path);
    if (typeof value !== 'string') return this.#wrongType(value, path, aText);
    const fault = format === undefined ? null : formatFault(format, value);
    if (fault === null) return value;
    this.#problems.add(fault.code, path, fault.message, fault.remedy);
    return undefined;
  }

  /** JSON numbers beyond 2⁵³ lose digits, and ids of some platforms are longer. */
  #digits(value: number, path: string): string | undefined {
    if (Number.isSafeInteger(value)) return String(value);
    const message = 'this number is no whole number, or has too many digits to be kept whole';
    this.#problems.add('wrong_type', path, message, 'Write the id in double quotes.');
    return undefined;
  }

  #choice(field: ChoiceField, value: Json, path: string): unknown {
    const synonyms = field.synonyms ?? {};
    const names = field.names.map((name) => `"${name}"`).join(', ');
    const wanted = field.others === 'channel_name' ? aText : `one of ${names}`;
    if (typeof value !== 'string') return this.#wrongType(value, path, wanted);
    if (field.names.includes(value)) return value;
    if (Object.hasOwn(synonyms, value)) return synonyms[value];
    if (field.others === 'channel_name' || (field.others && value.startsWith('mcp.'))) {
      return this.#text({ format: field.others }, value, path);
    }
    const remedy = (): string => {
      const near = nearest(value, [...field.names, ...Object.keys(synonyms)]);
      return near === null ? `Write one of ${names}.` : `Did you mean "${near}"?`;
    };
    const message = `${quote(value) ?? 'this'} is none of the known names`;
    this.#problems.add('unknown_value', path, message, remedy);
    return undefined;
  }

  #integer(field: IntegerField, value: Json, path: string): unknown {
    if (typeof value !== 'number') return this.#wrongType(value, path, 'a whole number');
    const range = field.maximum === undefined ? 'or more' : `to ${field.maximum}`;
    const remedy = `Write a whole number, ${field.minimum} ${range}.`;
    if (!Number.isSafeInteger(value)) {
      this.#problems.add('wrong_type', path, 'this is no whole number', remedy);
      return undefined;
    }
    const tooLarge = field.maximum !== undefined && value > field.maximum;
    if (value < field.minimum || (tooLarge && field.above !== 'clamped')) {
      const message = `this number is too ${tooLarge ? 'large' : 'small'}`;
      this.#problems.add('out_of_range', path, message, remedy);
      return undefined;
    }
    if (tooLarge) {
      const message = `more than ${field.maximum} is of no use; ${field.maximum} is taken`;
      this.#problems.add('clamped', path, message, `Write ${field.maximum} or less.`);
      return field.maximum;
    }
    return value === 0 && field.zeroIsDefault === true ? field.default : value;
  }

  #decimal({ minimum, maximum }: DecimalField, value: Json, path: string): unknown {
    if (typeof value !== 'number') return this.#wrongType(value, path, 'a number');
    if (value >= minimum && value <= maximum) return value;
    const message = `this number is too ${value < minimum ? 'small' : 'large'}`;
    const remedy = `Write a number, ${minimum} to ${maximum}.`;
    this.#problems.add('out_of_range', path, message, remedy);
    return undefined;
  }

  #wrongType(value: Json, path: string, wanted: string): undefined {
    const message = `this is ${typeName(value)}, where ${wanted} belongs`;
    this.#problems.add('wrong_type', path, message, `Write ${wanted}.`);
    return undefined;
  }
}

const aText = 'a text in double quotes';

/** Whether the field is absent, and it is the nearest name to one of the first unknown keys. */
function hasMisspelling(
  key: string,
  value: JsonObject,
  field: ObjectField,
  unknown: readonly string[],
): boolean {
  if (value[key] !== undefined) return false;
  const known = Object.keys(field.fields);
  return unknown.slice(0, comparedKeysMax).some((one) => nearest(one, known) === key);
}

const comparedKeysMax = 20;

/** The field as it is beside the block that makes it optional. */
function withoutNeed(field: Field, beside: JsonObject): Field {
  if (field.type !== 'list' || field.unless === undefined) return field;
  if (!isObject(beside[field.unless])) return field;
  const { required: _, itemsMin: _min, ...rest } = field;
  return { ...rest, default: [] };
}

const envField = { type: 'text', format: 'env', required: true } as const;

function isText(field: Field): boolean {
  return field.type === 'text' || field.type === 'choice';
}

function typeName(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return 'a text';
  return typeof value === 'number' ? 'a number' : 'true or false';
}

/** A description without backticks. */
function withoutBackticks(description: string): string {
  return description.replaceAll('`', '');
}
