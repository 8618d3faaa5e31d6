/** The schema as JSON Schema 2020-12, for editors and other tools. */
import { channelSynonyms } from '../channels/registry.ts';
import type { Condition, Field, Format, IntegerField, ListField, ObjectField } from './field.ts';
import type { JsonObject } from './locate.ts';
import { providerSynonyms, schema } from './schema.ts';

const patterns: Partial<Record<Format, string>> = {
  env: '^[A-Za-z_][A-Za-z0-9_]*$',
  url: '^[Hh][Tt][Tt][Pp][Ss]?://',
  base_url: '^[Hh][Tt][Tt][Pp][Ss]?://',
  url_path: '^/',
  time: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  digits: '^[0-9]+$',
  channel_name: '^[a-z][a-z0-9_-]{0,31}$',
  route_command: '^/[a-z0-9_]{1,32}$',
  server_name: '^[a-z][a-z0-9_-]{0,31}$',
  mcp_tool: '^mcp\\.[a-z][a-z0-9_-]{0,31}\\.[A-Za-z0-9_./-]{1,128}$',
};

/** The whole document. Only `svc config check` checks what fields mean together. */
export function jsonSchema(): JsonObject {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'svc.json',
    ...schemaOf(schema),
  };
}

/** An optional field may be null, and an optional text empty: both mean absent. */
function schemaOf(field: Field): JsonObject {
  const { description } = field;
  const optional = field.required !== true;
  switch (field.type) {
    case 'text': {
      const pattern = field.format === undefined ? undefined : patterns[field.format];
      return {
        description,
        ...typed(field.numbers === true ? ['string', 'integer'] : 'string', optional),
        ...(optional ? {} : { minLength: 1 }),
        ...(pattern === undefined ? {} : { pattern: optional ? `^$|${pattern}` : pattern }),
        ...(field.default === undefined ? {} : { default: field.default }),
      };
    }
    case 'choice': {
      const names = [...field.names, ...Object.keys(field.synonyms ?? {})];
      if (field.others !== undefined) {
        const pattern = patterns[field.others]!;
        const known = optional ? [...names, '', null] : names;
        return { description, anyOf: [{ enum: known }, { type: 'string', pattern }] };
      }
      return {
        description,
        enum: optional ? [...names, '', null] : names,
        ...(field.default === undefined ? {} : { default: field.default }),
      };
    }
    case 'integer':
      return integerSchema(field, optional);
    case 'decimal': {
      const { minimum, maximum, default: standard } = field;
      const more = standard === undefined ? {} : { default: standard };
      return { description, ...typed('number', optional), minimum, maximum, ...more };
    }
    case 'boolean':
      return {
        description,
        ...typed('boolean', optional),
        ...(field.default === undefined ? {} : { default: field.default }),
      };
    case 'list':
      return listSchema(field, optional);
    case 'map':
      return {
        description,
        ...typed('object', optional),
        propertyNames: { pattern: `${patterns.env!}|^_` },
        additionalProperties: { type: 'string', pattern: patterns.env! },
        maxProperties: field.entriesMax,
        default: field.default,
      };
    case 'object':
      return objectSchema(field, optional);
    default:
      return field satisfies never;
  }
}

function integerSchema(field: IntegerField, optional: boolean): JsonObject {
  const { description, minimum, maximum, above } = field;
  const isLimit = maximum !== undefined && above !== 'clamped';
  const more = maximum !== undefined && !isLimit ? ` At most ${maximum} is used.` : '';
  return {
    description: description + more,
    ...typed('integer', optional),
    minimum,
    ...(isLimit ? { maximum } : {}),
    ...(field.default === undefined ? {} : { default: field.default }),
  };
}

function listSchema(field: ListField, optional: boolean): JsonObject {
  return {
    description: field.description,
    ...typed('array', optional || isUnlessField(field)),
    items: schemaOf({ ...field.items, required: true }),
    ...(field.itemsMin === undefined || isUnlessField(field) ? {} : { minItems: field.itemsMin }),
    ...(field.default === undefined ? {} : { default: field.default }),
  };
}

function objectSchema(field: ObjectField, optional: boolean): JsonObject {
  const fields = Object.entries(field.fields);
  const required = fields
    .filter(([, inner]) => inner.required === true && !isUnlessField(inner))
    .map(([key]) => key);
  const conditions = [
    ...(field.conditions ?? []).map(conditionSchema),
    ...fields.flatMap(([key, inner]) => (isUnlessField(inner) ? [unlessSchema(key, inner)] : [])),
  ];
  return {
    description: field.description,
    ...typed('object', optional),
    properties: Object.fromEntries(fields.map(([key, inner]) => [key, schemaOf(inner)])),
    patternProperties: { '^(_|\\$schema$)': true },
    additionalProperties: false,
    ...(required.length === 0 ? {} : { required }),
    ...(conditions.length === 0 ? {} : { allOf: conditions }),
  };
}

type UnlessField = ListField & { readonly unless: string };

function isUnlessField(field: Field): field is UnlessField {
  return field.type === 'list' && field.unless !== undefined;
}

/** The field is there and not empty, or else the block is. */
function unlessSchema(key: string, { unless, itemsMin }: UnlessField): JsonObject {
  const present = { type: 'array', ...(itemsMin === undefined ? {} : { minItems: itemsMin }) };
  return {
    anyOf: [
      { properties: { [unless]: { type: 'object' } }, required: [unless] },
      { properties: { [key]: present }, required: [key] },
    ],
  };
}

function conditionSchema({ when, requires, forbids, only }: Condition): JsonObject {
  const properties: Record<string, JsonObject> = {};
  for (const key of requires ?? []) properties[key] = { not: { enum: ['', null] } };
  for (const key of forbids ?? []) properties[key] = { enum: ['', null] };
  for (const [key, name] of Object.entries(only ?? {})) properties[key] = { const: name };
  const holds = {
    properties: Object.fromEntries(
      Object.entries(when).map(([key, name]) => [key, { enum: [name, ...synonymsOf(name)] }]),
    ),
    required: Object.keys(when),
  };
  const consequence = { properties, ...(requires === undefined ? {} : { required: requires }) };
  return { anyOf: [{ not: holds }, consequence] };
}

function typed(type: string | readonly string[], optional: boolean): JsonObject {
  return { type: optional ? [type, 'null'].flat() : type };
}

/** Other names that a file may use for a name of the contract. */
function synonymsOf(name: string): readonly string[] {
  const synonyms = { ...channelSynonyms, ...providerSynonyms };
  return Object.entries(synonyms).flatMap(([other, meant]) => (meant === name ? [other] : []));
}
