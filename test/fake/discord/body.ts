/** Bodies of requests: JSON, or a form with files. /reference#uploading-files */
import { isForm, readForm } from '../form.ts';
import type { RestRequest } from './rest.ts';

/** The body of a form is its `payload_json`. */
export async function contentOf(
  body: Buffer,
  type = '',
): Promise<Pick<RestRequest, 'body' | 'files'>> {
  if (!isForm(type)) return { body: bodyOf(body.toString('utf8')) };
  const form = await readForm(body, type);
  if (form === null) return { body: null };
  return { body: bodyOf(form.fields['payload_json'] ?? ''), files: form.files };
}

/** Undefined: an empty body; null: no JSON. */
function bodyOf(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
