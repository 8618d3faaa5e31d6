/** Reads fields of Discord's JSON, which is `unknown` at first. Pure. */

export type Fields = Readonly<Record<string, unknown>>;

const snowflake = /^[0-9]{1,20}$/;

export function nameOf(user: Fields): string | null {
  return textOf(user['global_name']) || textOf(user['username']) || null;
}

export function idOf(value: unknown): string | null {
  return typeof value === 'string' && snowflake.test(value) ? value : null;
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
